# SPDX-License-Identifier: BSD-3-Clause
"""What the mount tests share: a work folder, mounts that end, TAP.

BLOSCFS names the program, TEST_DATA_DIR the samples. A test script ends with
status 77 only where there is no /dev/fuse. Only processes that the script
started are ended, by their number.
"""
import contextlib
import ctypes
import errno
import os
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
import traceback

BLOSCFS = os.environ.get("BLOSCFS", "bloscfs")
DATA = os.environ.get("TEST_DATA_DIR", os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "..", "data"))
SCRIPT_SECONDS = 110
NOBODY = 65534
# Whether the program runs under a sanitizer, which costs memory and time.
SANITIZED = bool(os.environ.get("BLOSCFS_SANITIZED"))
WORK = []


class Skip(Exception):
    """This check cannot be made here; says why."""


class TooLong(Exception):
    """The script takes too long. No error of the system's, which tests
    forgive here and there."""


def comes_true(condition, seconds=20, step=0.01):
    """Whether the condition came true in time, for who goes on either way."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(step)
    return True


def wait_until(condition, seconds=20, step=0.01, told=None):
    """Waits until the condition is true, and fails where it never is, with
    what told() says or else what the condition was at last."""
    last = []

    def holds():
        last[:] = [condition()]
        return last[0]

    if not comes_true(holds, seconds, step):
        state = told() if told else last[0]
        raise AssertionError(f"it is not so after {seconds} s: {state!r}")
    return True


def mounted(path):
    """The device number of what is mounted on path, or None."""
    escaped = path.replace(" ", "\\040")
    found = None
    with open("/proc/self/mountinfo", encoding="utf-8") as table:
        for line in table:
            fields = line.split(" ")
            if fields[4] == escaped:
                found = fields[2]
    return found


def mount_line(path):
    """Options and type of a mount: (options, type, source)."""
    with open("/proc/self/mounts", encoding="utf-8") as table:
        for line in table:
            source, point, kind, options = line.split(" ")[:4]
            if point == path:
                return options.split(","), kind, source
    return None


def run(*args, user=None, timeout=30, **more):
    """Runs bloscfs with these arguments; stderr and stdout as text."""
    if user is not None and os.geteuid() == 0:
        more.update(user=user, group=user, extra_groups=[])
    return subprocess.run([BLOSCFS, *args], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=timeout,
                          check=False, **more)


def raw_unmount(path):
    """Takes a mount away whatever state it is in."""
    for command in (["umount", "-l", path], ["fusermount3", "-uzq", path]):
        if not mounted(path):
            return
        subprocess.run(command, stdin=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, check=False, timeout=20)


class Mount:
    """A mount in the foreground, whose process we know. source: one, or a
    list. files: its soft and its hard limit of descriptors."""

    def __init__(self, work, source, *options, user=None, point=None,
                 files=None, env=None):
        self.point = point or tempfile.mkdtemp(prefix="mnt.", dir=work)
        if user is not None and point is None and os.geteuid() == 0:
            os.chown(self.point, user, user)
        handle, self.log_path = tempfile.mkstemp(prefix="log.", dir=work)
        more = {"env": {**os.environ, **env}} if env else {}
        if user is not None and os.geteuid() == 0:
            more.update(user=user, group=user, extra_groups=[])
        if files is not None:
            more.update(preexec_fn=lambda: resource.setrlimit(
                resource.RLIMIT_NOFILE, files))
        # What was written to in this moment would be opened twice; there is
        # nothing but the clock to wait for.
        time.sleep(0.05)
        ready, told = os.pipe()
        self.server = None
        sources = [source] if isinstance(source, str) else source
        self.process = subprocess.Popen(
            [BLOSCFS, "-f", f"--notify_fd={told}", *options, *sources,
             self.point],
            stdin=subprocess.DEVNULL, stdout=handle, stderr=handle,
            pass_fds=[told], **more)
        os.close(handle)
        os.close(told)
        word = os.read(ready, 1)
        os.close(ready)
        if word != b"\n":
            self.process.wait(20)
            raise AssertionError("no mount: " + self.log())

    @property
    def pid(self):
        """The process that serves: it has the threads, memory, files."""
        if self.server is None:
            self.server = server_of(self.process.pid)
        return self.server

    def path(self, *parts):
        return os.path.join(self.point, *parts)

    def log(self):
        with open(self.log_path, encoding="utf-8",
                  errors="replace") as file:
            return file.read()

    def log_lines(self, text):
        return [line for line in self.log().splitlines() if text in line]

    def counts(self):
        """What the daemon has read and written: each answer to the kernel
        is one write, each request and each look into a file a read."""
        with open(f"/proc/{self.pid}/io", encoding="ascii") as file:
            return {key: int(value) for key, value in
                    (line.split(":") for line in file)}

    def memory(self):
        """Bytes of memory that the daemon takes."""
        with open(f"/proc/{self.pid}/statm",
                  encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def end(self, how=signal.SIGTERM):
        """Ends it by a signal; the exit status."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        return self.process.wait(20)

    def kill(self):
        """Kills the daemon. Who serves ends with it, a moment later; then the
        kernel says at once that nobody answers."""
        self.process.kill()
        self.process.wait()
        self.process.returncode = 0

        def gone():
            try:
                # Asks, whatever the kernel remembers.
                os.statvfs(self.point)
            except OSError as error:
                return error.errno == errno.ENOTCONN
            return False

        wait_until(gone, told=lambda: "the mount still answers")

    def __enter__(self):
        return self

    def __exit__(self, kind, *error):
        status = None
        try:
            status = self.end()
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        finally:
            raw_unmount(self.point)
        if kind is None:
            equal(status, 0, "exit status, after " + self.log() + ",")


def server_of(pid):
    """The child of a daemon that serves its mount; itself if there is none,
    None if the daemon has ended."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children",
                  encoding="ascii") as file:
            children = file.read().split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    for child in children:
        with contextlib.suppress(OSError):
            with open(f"/proc/{child}/comm", encoding="ascii") as name:
                if name.read() == "bloscfs-serve\n":
                    return int(child)
    return pid


def background_pid(point):
    """The daemon whose command line names this mount point."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
            with open(f"/proc/{pid}/comm", encoding="ascii") as file:
                if file.read() in ("bloscfs-serve\n", "bloscfs-keys\n"):
                    continue  # its children
            if os.fsencode(point) in words and b"bloscfs" in words[0]:
                return int(pid)
    return None


def alive(pid):
    """Whether a process runs (a zombie does not)."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def end_background(point):
    pid = background_pid(point)
    raw_unmount(point)
    if pid and not comes_true(lambda: not alive(pid), 10):
        os.kill(pid, signal.SIGKILL)


def equal(got, wanted, what="value"):
    if got != wanted:
        raise AssertionError(f"{what} is {got!r}, wanted {wanted!r}")


def below(got, limit, what="memory"):
    """Bytes that the daemon takes are fewer than limit; a sanitizer keeps
    what was freed for a while, up to so much more."""
    if SANITIZED:
        limit += 512 << 20
    if got >= limit:
        raise AssertionError(f"{what} is {got}, wanted less than {limit}")


def fails_with(number, call, *args):
    """The call fails with this errno."""
    try:
        call(*args)
    except OSError as error:
        equal(error.errno, number, "errno")
    else:
        raise AssertionError(f"no error, wanted errno {number}")


def walk(top):
    """os.walk, which passes over folders that it cannot list otherwise."""
    def throw(error):
        raise error

    return os.walk(top, onerror=throw)


def read(path):
    with open(path, "rb", buffering=0) as file:
        parts = []
        while part := file.read(1 << 20):
            parts.append(part)
    return b"".join(parts)


def read_range(path, at, length):
    """As many bytes from `at` on, or fewer at the end of the file. One call
    may give less: what is before an error that the next one tells."""
    parts = []
    with open(path, "rb", buffering=0) as file:
        while length and (part := os.pread(file.fileno(), length, at)):
            parts.append(part)
            at += len(part)
            length -= len(part)
    return b"".join(parts)


def shown(terminal):
    """All that a terminal gets, whose other end is a program's; closes it."""
    got = b""
    with contextlib.suppress(OSError):  # the other end is closed
        while part := os.read(terminal, 65536):
            got += part
    os.close(terminal)
    return got


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)


def as_user(user, call):
    """Calls in a child that runs as another user; its exception comes
    back as a number: 0, or the errno."""
    pid = os.fork()
    if pid == 0:
        code = 255
        try:
            os.setgroups([])
            os.setgid(user)
            os.setuid(user)
            call()
            code = 0
        except OSError as error:
            code = error.errno
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def make_source(work, frame):
    """A folder with a frame, a.b2frame, and a file that is none, plain."""
    source = work + "/source"
    os.mkdir(source)
    write(source + "/a.b2frame", frame)
    write(source + "/plain", b"plain")
    return source


def lacking(number):
    """For preexec_fn: a filter that makes a system call unknown (ENOSYS), as on
    older kernels."""
    code = b"".join(struct.pack("<HBBI", *step) for step in (
        (0x20, 0, 0, 0),                # load the call's number
        (0x15, 0, 1, number),
        (0x06, 0, 0, 0x00050000 | errno.ENOSYS),
        (0x06, 0, 0, 0x7fff0000)))      # all else is allowed

    def take_filter():
        libc = ctypes.CDLL(None, use_errno=True)
        buffer = ctypes.create_string_buffer(code)
        program = struct.pack("HxxxxxxP", 4, ctypes.addressof(buffer))
        holder = ctypes.create_string_buffer(program)
        if libc.prctl(38, 1, 0, 0, 0) or \
                libc.prctl(22, 2, ctypes.byref(holder), 0, 0):
            os._exit(99)

    return take_filter


def needs_root():
    if os.geteuid() != 0:
        raise Skip("this check runs as root")


def needs_reach():
    """The program must be within reach of other users."""
    needs_root()
    if as_user(NOBODY, lambda: os.close(os.open(BLOSCFS,
                                                os.O_RDONLY))):
        raise Skip("others cannot reach the program")


def work_folder():
    """Where the script's tests work."""
    return WORK[0]


def main(tests, mounts=True):
    """Runs the tests, each with the work folder; prints TAP."""
    if mounts and not os.path.exists("/dev/fuse"):
        print("1..0 # SKIP there is no /dev/fuse")
        sys.exit(77)

    def too_long(_signal, _frame):
        # The other tests have some time, too.
        signal.alarm(SCRIPT_SECONDS // 4)
        raise TooLong(f"{SCRIPT_SECONDS} s and more")

    signal.signal(signal.SIGALRM, too_long)
    signal.alarm(SCRIPT_SECONDS)
    work = os.path.realpath(tempfile.mkdtemp(prefix="bloscfs-test."))
    os.chmod(work, 0o755)
    WORK.append(work)
    failed = 0
    lost = []
    # What a thread raises would be printed and forgotten.
    threading.excepthook = lost.append
    print(f"1..{len(tests)}", flush=True)
    try:
        for number, test in enumerate(tests, 1):
            name = test.__name__.replace("_", " ")
            folder = os.path.join(work, str(number))
            os.mkdir(folder)
            try:
                lost.clear()
                test(folder)
                if lost:
                    raise AssertionError(f"a thread ended with "
                                         f"{lost[0].exc_value!r}"
                                         ) from lost[0].exc_value
                print(f"ok {number} - {name}", flush=True)
            except Skip as why:
                print(f"ok {number} - {name} # SKIP {why}", flush=True)
            except Exception:  # any failure is one of this test
                failed += 1
                print(f"not ok {number} - {name}", flush=True)
                for line in traceback.format_exc().splitlines():
                    print("#   " + line, flush=True)
    finally:
        signal.alarm(0)
        with open("/proc/self/mountinfo", encoding="utf-8") as table:
            left = [line.split(" ")[4] for line in table
                    if line.split(" ")[4].startswith(work + "/")]
        for point in reversed(left):
            end_background(point)
        shutil.rmtree(work, ignore_errors=True)
    sys.exit(1 if failed else 0)
