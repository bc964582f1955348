#!/usr/bin/env python3
"""Runs clang-tidy-16 over src/ and nccl/, passing over what has passed before.

    tools/tidy.py BUILD_FOLDER [FILE...]

BUILD_FOLDER holds the compile_commands.json of a clang build. A file is checked again when it,
one of our headers below it, its compile command or .clang-tidy has changed.
"""

import concurrent.futures
import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = (ROOT / "src", ROOT / "nccl")
CACHE = ROOT / "build" / "tidy"
INCLUDE = re.compile(rb'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


def own_files(path, seen):
    """The file and every header of the project that it includes."""
    if path in seen or not path.exists():
        return seen
    seen.add(path)
    for name in INCLUDE.findall(path.read_bytes()):
        own_files(path.parent / name.decode(), seen)
        own_files(ROOT / "src" / name.decode(), seen)
        own_files(ROOT / name.decode().replace(".pb.h", ".proto"), seen)
    return seen


def digest(path, command, base):
    value = hashlib.sha256(base + command.encode())
    for file in sorted(own_files(path, set())):
        value.update(str(file).encode() + file.read_bytes())
    return value.hexdigest()


def check(build, path, stamp):
    run = subprocess.run(
        ["clang-tidy-16", "--quiet", "-p", str(build), str(path)], capture_output=True, text=True
    )
    if run.returncode == 0:
        stamp.touch()
        return ""
    return run.stdout + "".join(l for l in run.stderr.splitlines(True) if " generated." not in l)


def main():
    build = Path(sys.argv[1]).resolve()
    only = {Path(name).resolve() for name in sys.argv[2:]}
    version = subprocess.run(["clang-tidy-16", "--version"], capture_output=True, check=True).stdout
    base = version + (ROOT / ".clang-tidy").read_bytes()
    CACHE.mkdir(parents=True, exist_ok=True)

    todo = []
    files = 0
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = Path(entry["file"])
        if not any(folder in path.parents for folder in FOLDERS) or (only and path not in only):
            continue
        files += 1
        stamp = CACHE / digest(path, entry["command"], base)
        if not stamp.exists():
            todo.append((path, stamp))

    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for output in pool.map(lambda job: check(build, *job), todo):
            if output:
                failed += 1
                print(output, end="", flush=True)
    print(f"clang-tidy: {files} files, {len(todo)} checked now, {failed} with findings")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
