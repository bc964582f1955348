"""Imported by eroica_probe.pth: remembers that the installed package started the probe."""

import eroica_probe

if eroica_probe.started_by == "import":
    eroica_probe.started_by = "pth"
