"""Stands in for torch in the probe's tests: the few names that the probe touches, nothing else."""

import types

__version__ = "2.9.9+standin"
version = types.SimpleNamespace(cuda=None, hip=None)

import torch.distributed  # noqa: E402
import torch.optim  # noqa: E402
