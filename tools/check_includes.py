#!/usr/bin/env python3
"""Checks the order of the pipeline's stages: no file of src/ includes a later stage.

The order is EROICA_STAGES in src/CMakeLists.txt. Own headers are included as "STAGE/name.h",
and every folder of src/ has its paragraph in src/README.md. A type's name stands for one type:
two of one name in one namespace break the one-definition rule as soon as they are linked together,
and no compiler tells.
"""

import re
import sys
from pathlib import Path

SRC = Path(__file__).resolve().parent.parent / "src"
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
GENERATED = {"proto", "generated"}
NAMESPACE = re.compile(r"^namespace(?: ([\w:]+))? \{")
NAMESPACE_END = re.compile(r"^\}  // namespace\b")
TYPE = re.compile(r"^(?:template <.*> )?(?:struct|class|union|enum(?: class)?) (\w+)\b(?!::)[^;]*\{")


def stages():
    text = (SRC / "CMakeLists.txt").read_text()
    return re.search(r"set\(EROICA_STAGES\s+([^)$]+)\)", text).group(1).split()


def include_problems(order):
    for path in sorted([*SRC.glob("*/*.h"), *SRC.glob("*/*.cc")]):
        stage = path.parent.name
        text = path.read_text()
        for match in INCLUDE.finditer(text):
            included = match.group(1)
            line = text.count("\n", 0, match.start(1)) + 1
            where = f"src/{path.relative_to(SRC)}:{line}"
            folder = included.split("/")[0] if "/" in included else None
            if folder in GENERATED:
                continue
            if folder not in order:
                yield f'{where}: "{included}" is not of the form "STAGE/name.h"'
            elif stage in order and order.index(folder) > order.index(stage):
                yield f'{where}: {stage} comes before {folder}, so it may not include "{included}"'


def folder_problems(order):
    readme = SRC / "README.md"
    text = readme.read_text() if readme.exists() else ""
    for folder in sorted(p.name for p in SRC.iterdir() if p.is_dir()):
        if folder not in order:
            yield f"src/{folder} is not a stage of EROICA_STAGES in src/CMakeLists.txt"
        # A heading, a list item, a table row or a paragraph that starts with the folder's name.
        if not re.search(rf"^(?:#+ |[-*|] *)?[`*]*(?:src/)?{folder}\b", text, re.MULTILINE):
            yield f"src/README.md says nothing of src/{folder}"


def types_of(path):
    """(name with its namespaces, line) of each type that other files could see as well."""
    spaces = []
    for line, text in enumerate(path.read_text().splitlines(), 1):
        if begins := NAMESPACE.match(text):
            spaces.append(begins.group(1))
        elif NAMESPACE_END.match(text):
            spaces.pop()
        elif (found := TYPE.match(text)) and None not in spaces:
            yield "::".join([*spaces, found.group(1)]), line


def type_problems():
    seen = {}
    for path in sorted([*SRC.glob("*/*.h"), *SRC.glob("*/*.cc")]):
        for name, line in types_of(path):
            where = f"src/{path.relative_to(SRC)}:{line}"
            if name in seen:
                yield f"{where}: there is another {name} in {seen[name]}"
            seen.setdefault(name, where)


def main():
    order = stages()
    problems = [*include_problems(order), *folder_problems(order), *type_problems()]
    print("\n".join(problems) or "stages are in order")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
