"""Runs the binary under test."""

import functools
import json
import os
import resource
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BINARY = Path(os.environ.get("EROICA") or ROOT / "build" / "release" / "eroica").resolve()
SHARED = Path(os.environ.get("EROICA_SHARED") or ROOT.parent / "shared").resolve()

OK, FOUND, UNUSABLE, USAGE = 0, 1, 2, 64  # exit statuses of `eroica analyze`


@dataclass
class Run:
    status: int  # negative: ended by that signal
    out: str
    err: str

    def document(self):
        return json.loads(self.out)


@functools.cache
def sanitized():
    """Sanitizers reserve far more address space than they use, so it cannot be limited there."""
    return b"__asan_init" in BINARY.read_bytes() or b"__tsan_init" in BINARY.read_bytes()


def run(*arguments, cwd=None, timeout=120, memory_bytes=None, user=None):
    """Runs `eroica ARGUMENTS…`. `memory_bytes` limits its address space, `user` drops root's rights."""

    def limit():
        if memory_bytes is not None and not sanitized():
            resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    done = subprocess.run(
        [str(BINARY), *map(str, arguments)],
        cwd=cwd,
        timeout=timeout,
        preexec_fn=limit,
        user=user,
        group=user,
        extra_groups=[] if user is not None else None,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    return Run(done.returncode, done.stdout.decode(), done.stderr.decode(errors="replace"))


def analyze(*paths, **options):
    """The JSON document about the paths, which must be usable."""
    done = run("analyze", *paths, "--format", "json", **options)
    assert done.status in (OK, FOUND), f"exit status {done.status}: {done.err}"
    return done.document()
