"""What `python -m emulators` asks of the module `serve` of each cloud."""

import importlib
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, cast


@dataclass(frozen=True)
class Options:
    """What was asked for: `state` is a directory on a disk; port 0 is any free one."""

    state: Path
    port: int = 0
    time_scale: float = 1.0
    limit_s: float = 3600.0
    lag: int = 0
    """Looks for which new things are absent and deleted ones present."""
    tags: tuple[str, ...] = ()
    """Keys of the tags without which a policy of the company refuses to make anything."""


@dataclass(frozen=True)
class Demo:
    """What script/demo-cloud does: `diskbench` with these words, without these variables in the
    environment, then the cloud's module `listing` with its words."""

    run: Sequence[str]
    listing: Sequence[str]
    unset: Sequence[str] = ()


@dataclass(frozen=True)
class Told:
    """What is printed when the cloud is up; `env` is what to set. `more` is the cloud's own."""

    endpoint: str
    env: Mapping[str, str]
    time_scale: float
    demo: Demo
    more: Mapping[str, Any] = field(default_factory=dict)


class Serve(Protocol):
    """The module `serve` of a cloud's package."""

    def serve(self, options: Options) -> AbstractContextManager[Told]:
        """The cloud, up until the block ends; nothing of it is left then."""
        ...


def clouds() -> list[str]:
    """The clouds that can be served: those that have such a module."""
    return sorted(path.parent.name for path in Path(__file__).parent.glob("*/serve.py"))


def of(cloud: str) -> Serve:
    """The module of one of them."""
    return cast("Serve", importlib.import_module(f"emulators.{cloud}.serve"))
