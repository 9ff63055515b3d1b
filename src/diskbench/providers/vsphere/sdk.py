"""Access to pyVmomi without static types: it makes its types at run time."""

from __future__ import annotations

import importlib
from typing import Any


def sdk(name: str, module: str = "pyVmomi") -> Any:  # noqa: ANN401 - see above
    """`vim`, `vmodl`, `pbm` or another name of the SDK; raises ImportError without it."""
    return getattr(importlib.import_module(module), name)
