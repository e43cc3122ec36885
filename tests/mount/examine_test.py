#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What --check tells beside the verdict: every damaged chunk, and how a
container is laid out. Each finding comes from a sample that is damaged here."""
import json
import os
import struct
import zipfile

import harness
import samples
from harness import equal

CHUNK = 1 << 10
DATA = samples.noise(8 * CHUNK)


def examine(path):
    """Exit status, (verdict, error) of the first line, damage, notes."""
    done = harness.run("--check", path)
    lines = [line.split("\t") for line in done.stdout.splitlines()[1:]]
    told = {"#damage": [], "#note": []}
    for line in lines:
        if line[0] in told:
            equal(line[1].startswith(path), True, "path")
            told[line[0]].append(line[2])
    equal(lines[0][0], path, "first line")
    return done.returncode, (lines[0][1], lines[0][6]), told["#damage"], \
        told["#note"]


def is_damaged(path, text):
    """The only fault is this one."""
    status, first, damage, notes = examine(path)
    equal((status, first[0], damage, notes), (1, "damaged", [], []),
          f"what is told beside {first}")
    equal(text in first[1], True, f"{text!r} in {first[1]!r}")


def has_note(path, text):
    """It is good, and this is to be said of it."""
    status, first, damage, notes = examine(path)
    equal((status, first, damage, len(notes)), (0, ("good", "-"), [], 1),
          f"what is told beside {notes}")
    equal(text in notes[0], True, f"{text!r} in {notes[0]!r}")


def is_clean(path):
    equal(examine(path), (0, ("good", "-"), [], []), "what is told")


def metalayer_entries(frame):
    """Where the offsets of metalayers stand in the header."""
    at, places = 87 + 7, []
    for _ in range(struct.unpack_from(">H", frame, 87 + 5)[0]):
        at += 1 + (frame[at] & 0x1F) + 1
        places.append(at)
        at += 4
    return places


def every_damaged_chunk_is_told(work):
    path = work + "/a.b2frame"
    frame = bytearray(samples.frame(DATA, CHUNK))
    harness.write(path, frame)
    is_clean(path)
    for number in (1, 3, 6):
        at = samples.chunk_offset(number, CHUNK)
        frame[at + 4:at + 16] = b"\xff" * 12
    harness.write(path, frame)
    status, first, damage, notes = examine(path)
    equal((status, first[0], notes), (1, "damaged", []), "verdict")
    equal([text.split(":")[0] for text in [first[1]] + damage],
          ["chunk 1", "chunk 3", "chunk 6"], "chunks")
    equal(all(", at byte " in text for text in damage), True, damage)
    outputs = {harness.run("--check", f"--jobs={jobs}", path).stdout
               for jobs in (1, 2, 8)}
    equal(len(outputs), 1, "different outputs")


def missing_chunk_files_are_all_told(work):
    path = work + "/sparse"
    samples.write_sparse_frame(path, DATA, CHUNK)
    is_clean(path)
    for number in (2, 5):
        os.remove(f"{path}/{number:08X}.chunk")
    _, first, damage, _ = examine(path)
    equal([text.split(":")[0] for text in [first[1]] + damage],
          ["chunk 2", "chunk 5"], "chunks")


def what_is_told_is_bounded_and_says_so(work):
    path = work + "/a.b2frame"
    n_chunks = 101000
    frame = bytearray(samples.frame(DATA[:4000] * 101, 4))
    for number in range(n_chunks):
        at = samples.chunk_offset(number, 4)
        frame[at + 4:at + 16] = b"\xff" * 12
    harness.write(path, frame)
    outputs = set()
    for jobs in (1, 3):
        done = harness.run("--check", f"--jobs={jobs}", path)
        outputs.add(done.stdout)
        lines = [line for line in done.stdout.splitlines()
                 if line.startswith("#damage\t")]
        equal(len(lines), 100000, "lines")
        equal(lines[-1].split("\t")[2],
              "more than 100000; what follows was not told", "the last line")
        equal(lines[-2].split("\t")[2].split(":")[0], "chunk 99999",
              "the last chunk told")
    equal(len(outputs), 1, "different outputs")


def chunks_that_share_bytes_are_damage(work):
    path = work + "/a.b2frame"
    inner = DATA[:100]
    outer = DATA[:500] + samples.chunk(inner)
    outer += DATA[:CHUNK - len(outer)]
    made = [samples.chunk(outer)]
    harness.write(path, samples.assemble(outer + inner, CHUNK, made,
                                         [0, 32 + 500], False))
    is_damaged(path, "chunk 1: its first 132 bytes belong to chunk 0 too, "
               f"at byte {samples.HEADER_LEN + 532}")


def bytes_between_chunks_are_noted(work):
    path = work + "/a.b2frame"
    made = [samples.chunk(DATA[:CHUNK]), b"\xff" * 40,
            samples.chunk(DATA[CHUNK:2 * CHUNK]), b"\xff" * 2]
    harness.write(path, samples.assemble(
        DATA[:2 * CHUNK], CHUNK, made, [0, len(made[0]) + 40], False))
    has_note(path, "42 bytes that no chunk names (2 gaps, of which the first "
             f"is here), at byte {samples.HEADER_LEN + len(made[0])}")


def bytes_between_streams_are_noted(work):
    path = work + "/a.blosc2"
    chunk = bytearray(harness.read(harness.DATA +
                                   "/good-lz4-delta-shuffle.blosc2"))
    harness.write(path, chunk)
    is_clean(path)
    end = len(chunk)
    chunk += bytes(8)
    struct.pack_into("<I", chunk, 12, len(chunk))
    harness.write(path, chunk)
    has_note(path, "chunk 0: 8 bytes in it that no stream takes, the first is "
             f"here, at byte {end}")


def bytes_behind_a_chunk_that_ends_in_a_run_leave_it_whole(work):
    """A run of a byte has a length below 0 and a token behind it."""
    path = work + "/a.blosc2"
    stream = struct.pack("<iB", -7, 1)
    chunk = struct.pack("<BBBBiii", 5, 1, 0x35, 1, 100, 100,
                        36 + len(stream)) + bytes(16)
    chunk += struct.pack("<I", 36) + stream
    harness.write(path, chunk)
    is_clean(path)
    harness.write(path, chunk + b"stray")
    is_damaged(path, "5 bytes are left over behind the chunk, at byte "
               f"{len(chunk)}")


def blocks_that_share_streams_are_damage(work):
    path = work + "/a.blosc2"
    chunk = bytearray(harness.read(harness.DATA +
                                   "/good-dict-lz4.blosc2"))
    first = struct.unpack_from("<I", chunk, 32)[0]
    struct.pack_into("<I", chunk, 36, first)
    harness.write(path, chunk)
    is_damaged(path, f"chunk 0: two of its blocks begin here, at byte {first}")


def a_chunk_of_another_typesize_is_noted(work):
    path = work + "/a.b2frame"
    frame = bytearray(samples.frame(DATA, CHUNK))
    at = samples.chunk_offset(3, CHUNK)
    frame[at + 3] = 8
    harness.write(path, frame)
    has_note(path, "chunk 3: its typesize is 8, the container's 1 (1 such "
             f"chunks), at byte {at + 3}")


def a_table_of_metalayers_of_another_length_is_noted(work):
    path = work + "/a.b2frame"
    sound = harness.read(harness.DATA + "/good-frame-metalayers.b2frame")
    trailer = len(sound) - struct.unpack_from(">I", sound, len(sound) - 22)[0]
    for at in (87 + 2, trailer + 4):
        frame = bytearray(sound)
        frame[at] ^= 1
        harness.write(path, frame)
        has_note(path, f"are stored, at byte {at}")


def nothing_is_missed_in_a_newer_frame(work):
    """What was not read of it is not known to be missing."""
    path = work + "/a.b2frame"
    frame = bytearray(samples.frame(DATA, CHUNK))
    frame[0x19] |= 15
    harness.write(path, frame)
    status, first, damage, notes = examine(path)
    equal((status, first[0], damage, notes), (1, "unsupported", [], []),
          "what is told")


def bytes_between_index_and_trailer_are_noted(work):
    path = work + "/a.b2frame"
    frame = samples.frame(DATA, CHUNK)
    at = len(frame) - len(samples.trailer())
    frame = bytearray(frame[:at] + bytes(10) + frame[at:])
    frame[0x10:0x18] = struct.pack(">Q", len(frame))
    harness.write(path, frame)
    has_note(path, "10 bytes before the trailer that nothing names, at byte "
             f"{at}")


def bytes_behind_a_frame_are_noted(work):
    path = work + "/a.b2frame"
    frame = samples.frame(DATA, CHUNK)
    harness.write(path, frame + b"junk")
    has_note(path, "4 bytes behind the trailer that nothing names, at byte "
             f"{len(frame)}")


def metalayers_that_share_bytes_are_damage(work):
    path = work + "/a.b2frame"
    frame = bytearray(harness.read(harness.DATA +
                                   "/good-frame-metalayers.b2frame"))
    harness.write(path, frame)
    is_clean(path)
    places = metalayer_entries(frame)
    frame[places[1]:places[1] + 4] = frame[places[0]:places[0] + 4]
    harness.write(path, frame)
    status, first, _, _ = examine(path)
    equal((status, first[0]), (1, "damaged"), first)
    equal(" share " in first[1], True, first)


def a_flag_that_contradicts_the_trailer_is_noted(work):
    path = work + "/a.b2frame"
    frame = bytearray(samples.frame(DATA, CHUNK))
    equal(frame[0x44], 0xc2, "the flag")
    frame[0x44] = 0xc3
    harness.write(path, frame)
    has_note(path, "the header tells of variable metalayers, the trailer has "
             "0, at byte 68")


def a_fingerprint_that_nobody_verifies_is_noted(work):
    path = work + "/a.b2frame"
    frame = bytearray(samples.frame(DATA, CHUNK))
    frame[-17] = 3
    harness.write(path, frame)
    has_note(path, "a fingerprint of type 3, which is not verified")
    frame[-17:-15] = b"\0\1"
    harness.write(path, frame)
    has_note(path, "a fingerprint where the trailer says that there is none")


def bytes_behind_the_chunks_of_a_bloscpack_file_are_noted(work):
    path = work + "/a.blp"
    made = [samples.small_chunk(DATA[i:i + CHUNK])
            for i in range(0, len(DATA), CHUNK)]
    start = 32 + 8 * len(made)
    offsets = [start + i * len(made[0]) for i in range(len(made))]
    head = b"blpk" + struct.pack("<BBBBiiqq", 3, 1, 0, 1, CHUNK, CHUNK,
                                 len(made), 0)
    whole = head + struct.pack(f"<{len(made)}q", *offsets) + b"".join(made)
    harness.write(path, whole)
    is_clean(path)
    harness.write(path, whole + b"left over")
    has_note(path, f"9 bytes that no chunk names (1 gaps, of which the first "
             f"is here), at byte {len(whole)}")


def a_typesize_that_contradicts_the_chunks_is_noted(work):
    """Of a Bloscpack file, and of a frame of items that chunks do not know."""
    path = work + "/a.blp"
    whole = bytearray(harness.read(harness.DATA + "/good-blp3-adler32.blp"))
    harness.write(path, whole)
    is_clean(path)
    size, whole[7] = whole[7], 77
    harness.write(path, whole)
    has_note(path, f"the header's typesize is 77, the first chunk's {size}, "
             "at byte 7")
    path = work + "/a.b2frame"
    frame = bytearray(samples.frame(DATA, CHUNK))
    frame[0x30:0x34] = struct.pack(">i", 300)
    harness.write(path, frame)
    is_clean(path)
    at = samples.chunk_offset(2, CHUNK) + 3
    frame[at] = 4
    harness.write(path, frame)
    has_note(path, "chunk 2: its typesize is 4, the container's 300 (1 such "
             f"chunks), at byte {at}")


def make_store(path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as store:
        store.writestr("a.b2frame", samples.frame(DATA, CHUNK))
        store.writestr("note.txt", b"a text of some length")
    return bytearray(harness.read(path))


def members_whose_crc_differs_are_damage(work):
    """Stored bytes that no format has a checksum for."""
    path = work + "/a.b2z"
    whole = make_store(path)
    is_clean(path)
    for text in (DATA[100:120], b"a text of some"):
        broken = bytearray(whole)
        broken[whole.index(text)] ^= 1
        harness.write(path, broken)
        is_damaged(path, "where ")
        equal(" bytes has crc32 " in examine(path)[1][1], True, "reason")


def two_crcs_of_a_member_are_damage(work):
    path = work + "/a.b2z"
    whole = make_store(path)
    at = whole.index(b"PK\3\4")
    whole[at + 14] ^= 1
    harness.write(path, whole)
    is_damaged(path, "the two headers of a member store crc32 ")


def files_that_a_sparse_frame_does_not_name_are_noted(work):
    path = work + "/a.b2frame"
    samples.write_sparse_frame(path, DATA, CHUNK)
    is_clean(path)
    # One number more, one that is spelled in another way, and a note.
    for name in ("000000FF.chunk", "00000001.CHUNK", "0x000001.chunk"):
        harness.write(f"{path}/{name}", b"")
    has_note(path, "3 files that nothing names, the first is "
             "'00000001.CHUNK', at byte 0")


def bytes_between_members_are_noted(work):
    path = work + "/a.b2z"
    whole = make_store(path)
    second = whole.index(b"PK\3\4", 4)
    directory = whole.index(b"PK\1\2")
    entry = whole.index(b"PK\1\2", directory + 4)
    moved = whole[:second] + b"stranger" + whole[second:]
    for at, by in ((entry + 8 + 42, second + 8),
                   (len(moved) - 6, directory + 8)):
        struct.pack_into("<I", moved, at, by)
    harness.write(path, moved)
    has_note(path, "8 bytes before note.txt that nothing names, at byte "
             f"{second}")


def names_that_two_members_have_are_noted(work):
    path = work + "/a.b2z"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as store:
        store.writestr("a.b2frame", samples.frame(DATA, CHUNK))
        store.writestr("b.txt", b"one text")
        store.writestr("c.txt", b"another")
    whole = harness.read(path)
    harness.write(path, whole.replace(b"c.txt", b"b.txt"))
    has_note(path, "two members are called 'b.txt', at byte "
             f"{whole.index(b'c.txt') - 30}")


def members_of_a_stream_have_their_descriptors(work):
    """Lengths behind a member are nobody's gap, and are those in the
    directory."""
    path = work + "/a.b2z"
    with open(path, "wb") as file:
        with zipfile.ZipFile(Unseekable(file), "w") as store:
            store.writestr("a.b2frame", samples.frame(DATA, CHUNK))
            store.writestr("note.txt", b"text")
    whole = harness.read(path)
    at = whole.index(b"PK\7\10")
    is_clean(path)
    for place in (4, 8, 12):
        broken = bytearray(whole)
        broken[at + place] ^= 1
        harness.write(path, broken)
        is_damaged(path, "what follows a member repeats another crc32 or "
                   f"length than the directory has, at byte {at}")


def headers_of_a_member_that_differ_are_noted(work):
    path = work + "/a.b2z"
    whole = make_store(path)
    at = whole.index(b"PK\3\4", 4)
    for place, text in ((6, "the two headers of a member have flags 0001 and "
                         "0000"),
                        (11, "the two headers of a member have different "
                         "times")):
        broken = bytearray(whole)
        broken[at + place] ^= 1
        harness.write(path, broken)
        has_note(path, text)
    whole[-22 + 8] ^= 1
    harness.write(path, whole)
    has_note(path, "the end record is that of a part of several, at byte "
             f"{len(whole) - 18}")


def bytes_before_the_directory_of_an_empty_store_are_noted(work):
    path = work + "/a.b2z"
    end = b"PK\5\6" + bytes(12) + struct.pack("<IH", 5, 0)
    harness.write(path, b"PK\0\0\0" + end)
    has_note(path, "5 bytes behind the head that nothing names, at byte 0")


class Unseekable:
    def __init__(self, file):
        self.file = file

    def write(self, data):
        return self.file.write(data)

    def flush(self):
        self.file.flush()


def row_array(n):
    data = bytes(n)
    return samples.assemble(data, n, [samples.chunk(data)], [0], False,
                            samples.array_layer([n], [n], [n], b"|u1"))


def a_column_with_less_rows_than_its_table_is_noted(work):
    path = work + "/a.b2z"
    for short, tell in ((9, is_clean), (7, lambda path: has_note(
            path, "the column y.b2nd has 7 rows, _valid_rows has 8"))):
        with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as store:
            for name, n in (("_valid_rows", 8), ("_cols/x", 8),
                            ("_cols/y", short), ("_cols/x_dict", 3)):
                store.writestr(name + ".b2nd", row_array(n))
        tell(path)


def write_table(folder, columns, names=None, text=None):
    """columns: their numbers of rows, by name."""
    for name, n in columns.items():
        samples.write_column(f"{folder}/{name}", list(range(n)), 4)
    if text is None:
        text = json.dumps({"names": names or list(columns)}).encode()
    harness.write(folder + "/__rootdirs__", text)


def columns_of_a_table_are_those_that_it_names(work):
    """The list stands before its columns, which have verdicts of their own."""
    path = work + "/table"
    for i, (columns, names, damage, note) in enumerate((
            ({"a": 9, "b": 9}, ["b", "a"], None, None),
            ({"a": 9, "b": 8}, ["a", "b"],
             "the column 'b' has 8 rows, 'a' has 9", None),
            ({"a": 9}, ["a", "gone"],
             "__rootdirs__ names 'gone', which is no column", None),
            ({"a": 9}, ["a", "../table0/a"],
             "__rootdirs__ has what names no folder", None),
            ({"a": 9}, ["a", "a"], "__rootdirs__ names 'a' twice", None),
            ({"a": 9, "b": 3, "c": 9}, ["a"], None,
             "2 columns that __rootdirs__ does not name, the first is 'b'"))):
        write_table(path + str(i), columns, names)
        status, first, _, notes = examine(path + str(i))
        equal((status, first[0]), (1, "damaged") if damage else (0, "good"),
              "verdict")
        equal(first[1].startswith(damage or "-"), True, first)
        equal([text.startswith(note or "") for text in notes],
              [True] if note else [], notes)


def a_list_of_columns_that_cannot_be_read_is_damage(work):
    for i, (text, reason) in enumerate((
            (b"", "__rootdirs__: "), (b'{"names": ["a"', "__rootdirs__: "),
            (b'{"names": 3}', "__rootdirs__: no list of names"),
            (b'{"names": ["a\\u0000b"]}',
             "__rootdirs__ has what names no folder"),
            (b"[" * 100000, "__rootdirs__: "),
            (bytes(2 << 20), "__rootdirs__: it is too long"))):
        path = f"{work}/table{i}"
        write_table(path, {"a": 9}, text=text)
        status, first, _, _ = examine(path)
        equal((status, first[0]), (1, "damaged"), first)
        equal(first[1].startswith(reason), True, first)
        equal(harness.run("--info", path).returncode, 0, "--info")


def bytes_between_index_and_trailer_of_an_early_frame_are_noted(_work):
    has_note(harness.DATA + "/good-early-9d-gap.b2frame",
             "30 bytes before the trailer that nothing names, at byte 8087")
    for name in ("9b", "9c", "9c-usermeta", "9d-beta.2", "9d-empty"):
        is_clean(f"{harness.DATA}/good-early-{name}.b2frame")


harness.main([
    a_typesize_that_contradicts_the_chunks_is_noted,
    columns_of_a_table_are_those_that_it_names,
    a_list_of_columns_that_cannot_be_read_is_damage,
    headers_of_a_member_that_differ_are_noted,
    bytes_before_the_directory_of_an_empty_store_are_noted,
    bytes_between_streams_are_noted,
    bytes_behind_a_chunk_that_ends_in_a_run_leave_it_whole,
    blocks_that_share_streams_are_damage,
    a_chunk_of_another_typesize_is_noted,
    a_table_of_metalayers_of_another_length_is_noted,
    nothing_is_missed_in_a_newer_frame,
    files_that_a_sparse_frame_does_not_name_are_noted,
    bytes_between_members_are_noted,
    names_that_two_members_have_are_noted,
    members_of_a_stream_have_their_descriptors,
    a_column_with_less_rows_than_its_table_is_noted,
    bytes_between_index_and_trailer_of_an_early_frame_are_noted,
    every_damaged_chunk_is_told,
    missing_chunk_files_are_all_told,
    what_is_told_is_bounded_and_says_so,
    chunks_that_share_bytes_are_damage,
    bytes_between_chunks_are_noted,
    bytes_between_index_and_trailer_are_noted,
    bytes_behind_a_frame_are_noted,
    metalayers_that_share_bytes_are_damage,
    a_flag_that_contradicts_the_trailer_is_noted,
    a_fingerprint_that_nobody_verifies_is_noted,
    bytes_behind_the_chunks_of_a_bloscpack_file_are_noted,
    members_whose_crc_differs_are_damage,
    two_crcs_of_a_member_are_damage,
])
