"""The environment variables that bear on performance, with what is private taken out."""

import hashlib
import json
import os
import re

SHOWN = re.compile(
    r"(NCCL|GLOO|OMP|MKL|TORCH|PYTORCH|CUDA|ROCR|HIP)_|(MASTER_ADDR|SLURM_JOB_ID)$"
)
SECRET = re.compile("TOKEN|KEY|SECRET|PASSW|CREDENTIAL|AUTH", re.IGNORECASE)
HASHED = {"MASTER_ADDR"}
MAX_VALUE_CHARACTERS = 1024


def shown_environment(environ=os.environ):
    shown = {}
    for name, value in sorted(environ.items()):
        if SHOWN.match(name):
            shown[name] = _shown_value(name, value)
    return shown


def _shown_value(name, value):
    if SECRET.search(name):
        return "redacted"
    if name in HASHED:
        return "sha256:" + hashlib.sha256(value.encode("utf-8", "replace")).hexdigest()[:16]
    return value[:MAX_VALUE_CHARACTERS]


def hash_of(shown):
    text = json.dumps(sorted(shown.items()), separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
