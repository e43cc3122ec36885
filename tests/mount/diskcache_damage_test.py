#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Files of the disk cache that are damaged, cut, exchanged, of another version
or no files, or whose writer was killed: the truth is served, and they heal."""
import contextlib
import os
import random
import shutil
import signal
import stat as stat_mode
import threading

import harness
from diskcached import (CELL, cached, files, fill, flip, healed, made,
                        one_question, own, stat, stripes, whole)
from harness import equal, read
from objects import Server

# How often a daemon is killed while it writes; more by hand take longer.
KILLS = int(os.environ.get("BLOSCFS_KILLS", "10"))
harness.SCRIPT_SECONDS += 5 * max(0, KILLS - 10)


def damage_is_met_with_the_truth(work):
    frame, truth = made(work, mib=3)
    disk = work + "/disk"
    with Server() as server:
        url = server.put_file("/f.b2frame", frame)
        fill(work, url, disk, truth)
        # Of the header, the checksums and the cells.
        for at in (15, 40, 121, 130, CELL, CELL + CELL * 200 - 1):
            for path in stripes(disk):
                flip(path, at)
            healed(work, url, disk, truth, server, f"damage at {at}")
        for at in (24, 72, 505):
            flip(files(disk, ".object")[0], at)
            healed(work, url, disk, truth, server, f"note's damage at {at}")


def cut_files_are_met_with_the_truth(work):
    frame, truth = made(work, mib=3)
    disk = work + "/disk"
    with Server() as server:
        url = server.put_file("/f.b2frame", frame)
        fill(work, url, disk, truth)
        for length in (0, 1000, CELL, CELL + 100000):
            for path in stripes(disk):
                os.truncate(path, length)
            healed(work, url, disk, truth, server, f"a cut to {length}",
                   length != 0)
        for length in (0, 511):
            os.truncate(files(disk, ".object")[0], length)
            healed(work, url, disk, truth, server,
                   f"the note's cut to {length}", length != 0)


def bytes_of_others_are_not_served(work):
    one, truth = made(work, "one", mib=3)
    two, other = made(work, "two", mib=3, seed=1)
    disk = work + "/disk"
    with Server() as server:
        # All that a name on disk does not tell is the same.
        equal(os.path.getsize(one), os.path.getsize(two))
        first = server.put_file("/one.b2frame", one, tag='"same"')
        second = server.put_file("/two.b2frame", two, tag='"same"')
        fill(work, first, disk, truth)
        of_first = files(disk)
        fill(work, second, disk, other)
        of_second = [path for path in files(disk) if path not in of_first]
        for path in of_second:
            end = path[path.index(".", len(own(disk))):]
            shutil.copy(next(name for name in of_first
                             if name.endswith(end)), path)
        healed(work, second, disk, other, server, "files of another object")
        # Stripes of one object, exchanged.
        zero, last = (next(path for path in of_first if path.endswith(end))
                      for end in (".0", ".1"))
        shutil.copy(zero, work + "/kept")
        shutil.copy(last, zero)
        shutil.copy(work + "/kept", last)
        healed(work, first, disk, truth, server, "exchanged stripes")
        # A cell in another's place, with its checksum.
        with open(zero, "r+b") as file:
            content = bytearray(file.read())
            content[128 + 8 * 9:128 + 8 * 10] = \
                content[128 + 8 * 30:128 + 8 * 31]
            content[10 * CELL:11 * CELL] = content[31 * CELL:32 * CELL]
            file.seek(0)
            file.write(content)
        healed(work, first, disk, truth, server, "a cell in another place")
        one_question(work, second, disk, other, server)


def what_is_no_file_is_not_followed(work):
    frame, truth = made(work, mib=3)
    disk, victim = work + "/disk", work + "/victim"
    with Server() as server:
        url = server.put_file("/f.b2frame", frame)
        fill(work, url, disk, truth)
        shutil.copy(stripes(disk)[0], victim)
        before = read(victim)

        def fifo(path):
            os.mkfifo(path)

        for make in (lambda path: os.symlink(victim, path),
                     lambda path: os.symlink("/nonexistent", path), fifo):
            for path in files(disk, ".object")[0], stripes(disk)[0]:
                replaced = path, own(disk) + "/size"
                for name in replaced:
                    os.unlink(name)
                    make(name)
                with cached(work, url, disk) as mount:
                    whole(mount, truth, f"with {path}")
                equal(read(victim) == before, True, "what a link names")
                for name in replaced:
                    assert stat_mode.S_ISREG(os.lstat(name).st_mode), name
            one_question(work, url, disk, truth, server)
        # A folder cannot be removed, and is no reason for anything.
        path = stripes(disk)[0]
        os.unlink(path)
        os.mkdir(path)
        with cached(work, url, disk) as mount:
            whole(mount, truth, "with a folder")


def another_version_is_left_alone(work):
    frame, truth = made(work, mib=3)
    disk = work + "/disk"
    with Server() as server:
        url = server.put_file("/f.b2frame", frame)
        fill(work, url, disk, truth)
        newer = f"{disk}/bloscfs-cache-2-{os.geteuid()}"
        os.mkdir(newer, 0o700)
        harness.write(newer + "/" + "0" * 64 + ".0", b"of a later version")
        for path in files(disk):
            with open(path, "r+b") as file:
                file.seek(16)
                file.write(b"\x02")
        before = {path: read(path) for path in files(disk)}
        with cached(work, url, disk) as mount:
            whole(mount, truth)
            equal(stat(mount, "faults"), 0, "faults")
        equal({path: read(path) for path in files(disk)} == before, True,
              "files as they were")
        equal(read(newer + "/" + "0" * 64 + ".0"), b"of a later version")


def killed_in_the_midst_of_writing_it_never_lies(work):
    frame, truth = made(work)
    disk = work + "/disk"
    dice = random.Random(int(os.environ.get("BLOSCFS_SEED", "1")))
    faults = kills = 0
    with Server() as server:
        url = server.put_file("/f.b2frame", frame)
        # Half of all rounds end it while nothing was there, half in between.
        for number in range(KILLS):
            for path in files(disk) if number else []:
                if number % 2 or dice.random() < 0.6:
                    os.unlink(path)
            mount = cached(work, url, disk)
            reader = threading.Thread(target=unheard, args=(mount,))
            reader.start()
            want = dice.randrange(len(truth))
            while mount.process.poll() is None and reader.is_alive() and \
                    written(mount) < want:
                pass
            kills += reader.is_alive()
            mount.end(signal.SIGKILL)
            harness.raw_unmount(mount.point)
            reader.join()
            with cached(work, url, disk) as again:
                whole(again, truth, f"after {number + 1} kills")
                faults += stat(again, "faults")
            one_question(work, url, disk, truth, server,
                         f"after {number + 1} kills")
    print(f"# {KILLS} daemons killed, {kills} of them while they read; "
          f"{faults} damaged files were met")
    assert kills > 0, "none was killed while it was read from"


def written(mount):
    """Bytes that the daemon has written to files, and to the kernel."""
    try:
        return mount.counts()["write_bytes"] + mount.counts()["wchar"]
    except OSError:
        return 1 << 60


def unheard(mount):
    with contextlib.suppress(OSError):
        read(mount.path("data.bin"))


if __name__ == "__main__":
    harness.main([
        damage_is_met_with_the_truth,
        cut_files_are_met_with_the_truth,
        bytes_of_others_are_not_served,
        what_is_no_file_is_not_followed,
        another_version_is_left_alone,
        killed_in_the_midst_of_writing_it_never_lies,
    ])
