"""Files that the agent asks for: only in its folders, through no link, complete when they appear."""

import os
import shutil
import tempfile


class Refused(Exception):
    pass


def check_path(path, folders):
    """The folder part resolved, or Refused when that is in none of the folders."""
    if not isinstance(path, str) or "\0" in path or not os.path.isabs(path):
        raise Refused("not an absolute path")
    folder, name = os.path.split(path)
    if name in ("", ".", ".."):
        raise Refused("not the path of a file")
    real = os.path.realpath(folder)
    for allowed in folders:
        allowed = os.path.realpath(allowed)
        if real == allowed or real.startswith(allowed.rstrip("/") + "/"):
            return os.path.join(real, name)
    raise Refused("outside of the agent's folders")


def write_new(path, write):
    """write(descriptor) fills PATH.tmp, which then becomes PATH."""
    temporary = path + ".tmp"
    descriptor = os.open(
        temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
    )
    try:
        try:
            write(descriptor)
        finally:
            os.close(descriptor)
        os.rename(temporary, path)
    except BaseException:
        try:
            os.unlink(temporary)
        except OSError:
            pass
        raise


def write_all(descriptor, content):
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]


def written_by_name(path, write):
    """Like write_new where write can only be given the name of a file that it makes itself."""
    private = tempfile.mkdtemp(prefix=".eroica-", dir=os.path.dirname(path))
    try:
        inside = os.path.join(private, "trace.json")
        write(inside)
        os.chmod(inside, 0o600)
        os.rename(inside, path)
    finally:
        shutil.rmtree(private, ignore_errors=True)
