"""The fake cloud's state: tagged resources in a directory, and the faults planned for them.

Another process sees the same resources; a resource exists complete with its tags, or not at all.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Tags = Mapping[str, Any]


@dataclass(frozen=True)
class FakeCloud:
    """A cloud in the directory `place`, which is made at first use."""

    place: Path

    def directory(self, name: str) -> Path:
        """A resource's directory for data."""
        made = self._resource(name) / "data"
        made.mkdir(exist_ok=True)
        return made

    def exists(self, name: str) -> bool:
        """Whether the resource exists."""
        return self._resource(name).exists()

    def things(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """All resources' names and tags, by name."""
        place = self.place / "resources"
        for path in sorted(place.iterdir()) if place.is_dir() else []:
            try:
                yield path.name, json.loads((path / "tags.json").read_text())
            except (FileNotFoundError, ValueError):
                continue

    def make(self, name: str, tags: Tags) -> None:
        """Make a resource with its tags atomically; a second call finds it."""
        made = self._resource(name)
        if made.exists():
            return
        made.parent.mkdir(parents=True, exist_ok=True)
        new = self.place / "unmade" / name
        new.mkdir(parents=True, exist_ok=True)
        _write(new, tags)
        new.rename(made)

    def tag(self, name: str, tags: Tags) -> None:
        """Replace all tags of a resource atomically: other processes may list them meanwhile."""
        _write(self._resource(name), tags)

    def delete(self, name: str) -> None:
        """Delete a resource with its data; a missing one is no error. Raises OSError.

        It is gone at once: a process that is killed meanwhile leaves no resource whose tags are
        deleted already, which nobody would find."""
        trash = self.place / "deleted"
        trash.mkdir(parents=True, exist_ok=True)
        gone = Path(tempfile.mkdtemp(dir=trash))
        with contextlib.suppress(FileNotFoundError):
            self._resource(name).rename(gone / name)
        shutil.rmtree(gone)

    def fault(self, kind: str, zone: str) -> str | None:
        """The fault planned for a `kind` of resource (or for `release`) in a zone."""
        return self._faults().get(f"{kind}/{zone}")

    def plan_fault(self, kind: str, zone: str, fault: str | None) -> None:
        """Plan a fault, or remove it."""
        self.place.mkdir(parents=True, exist_ok=True)
        faults = self._faults()
        faults.pop(f"{kind}/{zone}", None)
        planned = {**faults, **({f"{kind}/{zone}": fault} if fault else {})}
        (self.place / "faults.json").write_text(json.dumps(planned))

    def _resource(self, name: str) -> Path:
        return self.place / "resources" / name

    def _faults(self) -> dict[str, str]:
        try:
            faults: dict[str, str] = json.loads((self.place / "faults.json").read_text())
        except FileNotFoundError:
            return {}
        return faults


def _write(resource: Path, tags: Tags) -> None:
    new = resource / ".tags.json"
    new.write_text(json.dumps(dict(tags)))
    new.rename(resource / "tags.json")
