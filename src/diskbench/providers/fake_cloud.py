"""The fake cloud's memory: things with tags in a directory, and the faults planned for them.

Another process finds what one made, and a thing is there whole, with its tags, or not at all.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Tags = Mapping[str, Any]


@dataclass(frozen=True)
class FakeCloud:
    """A cloud in the directory `place`, which is made when it is first needed."""

    place: Path

    def directory(self, name: str) -> Path:
        """A thing's room for data."""
        made = self._thing(name) / "data"
        made.mkdir(exist_ok=True)
        return made

    def exists(self, name: str) -> bool:
        """Whether the thing is there."""
        return self._thing(name).exists()

    def things(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """The name and tags of everything there is, by name."""
        place = self.place / "resources"
        for path in sorted(place.iterdir()) if place.is_dir() else []:
            try:
                yield path.name, json.loads((path / "tags.json").read_text())
            except (FileNotFoundError, ValueError):
                continue

    def make(self, name: str, tags: Tags) -> None:
        """Make a thing with its tags at once; the second time finds it."""
        made = self._thing(name)
        if made.exists():
            return
        new = made.with_name(f".{name}")
        new.mkdir(parents=True, exist_ok=True)
        _write(new, tags)
        new.rename(made)

    def tag(self, name: str, tags: Tags) -> None:
        """Set all tags of a thing, whole or not at all: others list them meanwhile."""
        _write(self._thing(name), tags)

    def delete(self, name: str) -> None:
        """Delete a thing with its data; one that is gone is no error. Raises OSError."""
        if self.exists(name):
            shutil.rmtree(self._thing(name))

    def fault(self, kind: str, zone: str) -> str | None:
        """What is planned to go wrong with a `kind` of thing (or `release`) in a zone."""
        return self._faults().get(f"{kind}/{zone}")

    def plan_fault(self, kind: str, zone: str, fault: str | None) -> None:
        """Let it go wrong from now on, or no more."""
        self.place.mkdir(parents=True, exist_ok=True)
        faults = self._faults()
        faults.pop(f"{kind}/{zone}", None)
        planned = {**faults, **({f"{kind}/{zone}": fault} if fault else {})}
        (self.place / "faults.json").write_text(json.dumps(planned))

    def _thing(self, name: str) -> Path:
        return self.place / "resources" / name

    def _faults(self) -> dict[str, str]:
        try:
            found: dict[str, str] = json.loads((self.place / "faults.json").read_text())
        except FileNotFoundError:
            return {}
        return found


def _write(thing: Path, tags: Tags) -> None:
    new = thing / ".tags.json"
    new.write_text(json.dumps(dict(tags)))
    new.rename(thing / "tags.json")
