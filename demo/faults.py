"""Faults that come to a training process from outside, and go again when asked to.

Each is a context manager: `with quota(pids, 0.1) as what:` gives, in words, what was done. Refused raises Unavailable.
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time

CGROUP = "/sys/fs/cgroup"
BUSY = "while True: pass"


class Unavailable(Exception):
    """This machine does not let us."""


def write(path, text):
    with open(path, "w") as file:
        file.write(str(text))


def read(path):
    with open(path) as file:
        return file.read()


def cpu_seconds(pid):
    fields = read(f"/proc/{pid}/stat").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def cores_used(pid, seconds=2.0):
    before, began = cpu_seconds(pid), time.monotonic()
    time.sleep(seconds)
    return (cpu_seconds(pid) - before) / (time.monotonic() - began)


def groups_of(pid):
    """{controller or "": path} of the control groups that a process is in."""
    groups = {}
    for line in read(f"/proc/{pid}/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        for controller in controllers.split(","):
            groups[controller] = path
    return groups


def mount_of(controller):
    """Where a controller of version 1, or "" version 2, is mounted."""
    for line in read("/proc/self/mountinfo").splitlines():
        front, back = line.split(" - ", 1)
        kind, _, options = back.split(" ", 2)
        if kind == "cgroup2" and not controller or kind == "cgroup" and controller in options.split(","):
            return front.split()[4]
    return None


@contextlib.contextmanager
def group(pid, controller, name):
    """A new control group with the process in it; gives its folder and its version."""
    mount, version = mount_of(controller), 1
    before = groups_of(pid)
    if mount is None or controller not in before:
        mount, version = mount_of(""), 2
    if mount is None:
        raise Unavailable("no control groups here")
    home = mount + before.get(controller if version == 1 else "", "/").rstrip("/")
    folder = f"{home if version == 1 else mount}/{name}-{os.getpid()}"
    try:
        if version == 2 and controller not in read(f"{mount}/cgroup.subtree_control").split():
            write(f"{mount}/cgroup.subtree_control", f"+{controller}")
        os.mkdir(folder)
    except OSError as error:
        raise Unavailable(f"control groups cannot be made: {error.strerror}") from error
    try:
        try:
            write(f"{folder}/cgroup.procs", pid)
        except OSError as error:
            raise Unavailable(f"the process cannot be moved: {error.strerror}") from error
        yield folder, version
    finally:
        with contextlib.suppress(OSError):
            write(f"{home}/cgroup.procs", pid)
        for _ in range(50):  # a process that has just ended may still be counted
            with contextlib.suppress(OSError):
                os.rmdir(folder)
                break
            time.sleep(0.1)


@contextlib.contextmanager
def quota(pid, part=0.4):
    """A CPU quota: the process may use `part` of what it uses now."""
    cores = max(0.02, cores_used(pid) * part)
    with group(pid, "cpu", "eroica-demo") as (folder, version):
        microseconds = int(cores * 100_000)
        try:
            if version == 1:
                write(f"{folder}/cpu.cfs_quota_us", microseconds)
            else:
                write(f"{folder}/cpu.max", f"{microseconds} 100000")
        except OSError as error:
            raise Unavailable(f"no quota can be set: {error.strerror}") from error
        yield f"a CPU quota of {100 * cores:.0f} % of a core (cgroup version {version}: {folder})"


@contextlib.contextmanager
def neighbour(pid, count=2):
    """Busy processes share the one CPU that the process is left with."""
    cpu = max(os.sched_getaffinity(pid))
    threads = [int(name) for name in os.listdir(f"/proc/{pid}/task")]
    allowed = {thread: os.sched_getaffinity(thread) for thread in threads}
    busy = []
    try:
        for thread in threads:
            with contextlib.suppress(OSError):
                os.sched_setaffinity(thread, {cpu})
        for _ in range(count):
            busy.append(subprocess.Popen(["taskset", "-c", str(cpu), sys.executable, "-c", BUSY], start_new_session=True))
        for process in busy:
            with contextlib.suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, process.pid, -10)
        yield f"{count} busy processes beside it on CPU {cpu}"
    except FileNotFoundError as error:
        raise Unavailable("taskset is missing") from error
    finally:
        for process in busy:
            process.kill()
            process.wait()
        for thread, cpus in allowed.items():
            with contextlib.suppress(OSError):
                os.sched_setaffinity(thread, cpus)


def disk_of(path):
    device = os.stat(path).st_dev
    folder = os.path.realpath(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}")
    if os.path.exists(f"{folder}/partition"):
        folder = os.path.dirname(folder)
    if not os.path.exists(f"{folder}/dev"):
        raise Unavailable(f"{path} is on no disk")
    return read(f"{folder}/dev").strip()


@contextlib.contextmanager
def slow_disk(pid, path, bytes_per_s=500_000):
    """The process may read only so much a second from the disk that holds `path`."""
    disk = disk_of(path)
    with group(pid, "blkio" if mount_of("blkio") else "io", "eroica-demo") as (folder, version):
        try:
            if version == 1:
                write(f"{folder}/blkio.throttle.read_bps_device", f"{disk} {bytes_per_s}")
            else:
                write(f"{folder}/io.max", f"{disk} rbps={bytes_per_s}")
        except OSError as error:
            raise Unavailable(f"no limit can be set: {error.strerror}") from error
        yield f"its reads limited to {bytes_per_s / 1e6:g} MB/s (cgroup version {version}: {folder})"


@contextlib.contextmanager
def stuttering(pid, stopped=0.6, period=0.1):
    """Stops and continues the process all the time."""
    over = threading.Event()

    def stutter():
        with contextlib.suppress(OSError):
            while not over.is_set():
                os.kill(pid, signal.SIGSTOP)
                time.sleep(period * stopped)
                os.kill(pid, signal.SIGCONT)
                time.sleep(period * (1 - stopped))

    thread = threading.Thread(target=stutter, daemon=True)
    thread.start()
    try:
        yield f"stopped {100 * stopped:.0f} % of the time by signals"
    finally:
        over.set()
        thread.join()
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGCONT)


@contextlib.contextmanager
def stopped(pid):
    os.kill(pid, signal.SIGSTOP)
    try:
        yield "stopped by SIGSTOP"
    finally:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGCONT)


@contextlib.contextmanager
def killed(pid):
    os.kill(pid, signal.SIGKILL)
    yield "killed by SIGKILL"


@contextlib.contextmanager
def switched_on(folder, name):
    """Lets the job's own code do what it should not (job.py)."""
    path = f"{folder}/on/{name}"
    write(path, "")
    try:
        yield f"'{name}' switched on in the job's own code"
    finally:
        with contextlib.suppress(OSError):
            os.unlink(path)


def find_rank(ancestor, rank):
    """The process that is a rank, of those that `ancestor` started; None: not there yet."""
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError, IndexError):
                parents[int(name)] = int(read(f"/proc/{name}/stat").rsplit(")", 1)[1].split()[1])
    for pid in parents:
        with contextlib.suppress(OSError):
            with open(f"/proc/{pid}/environ", "rb") as file:
                if b"RANK=%d" % rank not in file.read().split(b"\0"):
                    continue
            at = pid
            while at > 1 and at != ancestor:
                at = parents.get(at, 0)
            # A rank's own children bear its environment too.
            with open(f"/proc/{parents[pid]}/environ", "rb") as file:
                if at == ancestor and b"RANK=%d" % rank not in file.read().split(b"\0"):
                    return pid
    return None
