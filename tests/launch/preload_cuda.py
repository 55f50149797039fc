"""A preload after which torch, or what stands for it here, says that CUDA is in use."""

import sys
from types import ModuleType, SimpleNamespace

_torch = ModuleType("torch")
_torch.cuda = SimpleNamespace(is_initialized=lambda: True)  # type: ignore[attr-defined]
sys.modules["torch"] = _torch
