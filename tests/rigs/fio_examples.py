"""fio's own example job files, from Debian's package `fio-examples`: read, never kept here."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory


@cache
def examples() -> Mapping[str, str]:
    """The text of each example by its file name, in order. Needs apt's registry."""
    with TemporaryDirectory(prefix="fio-examples-") as scratch:
        run = {"cwd": scratch, "check": True, "capture_output": True, "timeout": 300}
        subprocess.run(["apt-get", "download", "-q", "fio-examples"], **run)  # type: ignore[call-overload]
        (package,) = Path(scratch).glob("fio-examples_*.deb")
        subprocess.run(["dpkg-deb", "-x", package.name, "files"], **run)  # type: ignore[call-overload]
        files = sorted(Path(scratch, "files").rglob("examples/*.fio"))
        return {file.name: file.read_text("utf-8") for file in files}
