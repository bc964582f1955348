#!/usr/bin/env python3
"""Writes the tables of docs/rules.md (facts, causes) from the sources, so that they cannot differ."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def facts():
    text = (ROOT / "src/diagnose/all_facts.cc").read_text()
    for name, unit, entities, meaning in re.findall(r'\{"([a-z_.]+)", "([^"]*)",\s*"([^"]*)",\s*"([^"]*)"\}', text):
        if not entities:
            yield f"| `{name}` | {unit} | {meaning} |"


def causes():
    titles = {}
    for path in sorted((ROOT / "rules").glob("*.toml")):
        for cause, title in re.findall(r'^cause = "([^"]+)"\ntitle = "([^"]+)"', path.read_text(), re.MULTILINE):
            titles[cause] = f"| `{cause}` | {title} | [{path.name}](../rules/{path.name}) |"
    text = (ROOT / "src/diagnose/vocabulary.cc").read_text().split("ids = {")[1].split("};")[0]
    return [titles[cause] for cause in re.findall(r'"([a-z]+\.[a-z_]+)"', text)]


def main():
    path = ROOT / "docs/rules.md"
    text = path.read_text()
    for name, rows in (("facts", facts()), ("causes", causes())):
        begin, end = f"<!-- {name}: tools/rules_tables.py -->\n", f"<!-- end of {name} -->"
        head, rest = text.split(begin)
        table = rest.split(end)[0].splitlines()[:2]
        text = head + begin + "\n".join([*table, *rows]) + "\n" + end + rest.split(end)[1]
    path.write_text(text)


if __name__ == "__main__":
    main()
