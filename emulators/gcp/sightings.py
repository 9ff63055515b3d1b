"""The lag mode: a new thing is absent from get and list for some looks at it, a deleted one still
there.

Compute Engine's reads after an operation has ended are usually up to date; Google promises it
nowhere, and other processes read before the end. So the mode is harder than the service: what
changes a thing (attach, delete) meets the truth at once, what reads does not.
"""

import copy
from dataclasses import dataclass, field
from typing import Any

Rows = dict[str, dict[str, Any]]


@dataclass
class Sightings:
    """What readers do not see yet, and what they see still. Changed under the cloud's lock only."""

    known: Rows = field(default_factory=dict)
    """The truth as it was at the end of the request before."""
    unseen: dict[str, int] = field(default_factory=dict)
    """Path of a new thing → looks for which it is absent."""
    gone: dict[str, tuple[dict[str, Any], int]] = field(default_factory=dict)
    """Path of a deleted thing → its last state, and the looks for which it is shown."""

    def note(self, rows: Rows, lag: int) -> None:
        """Compare the truth with that of the request before: things came and went."""
        for path in rows.keys() - self.known.keys():
            self.gone.pop(path, None)
            if lag:
                self.unseen[path] = lag
        for path in self.known.keys() - rows.keys():
            if self.unseen.pop(path, None) is None and lag:
                self.gone[path] = (copy.deepcopy(self.known[path]), lag)
        self.known = dict(rows)

    def look(self, path: str) -> dict[str, Any] | bool:
        """One look at a thing: True when the truth is shown, False when it is absent yet, and the
        state that is shown of one that is gone."""
        if path in self.unseen:
            self.unseen[path] -= 1
            if self.unseen[path] <= 0:
                del self.unseen[path]
            return False
        if path in self.gone:
            row, left = self.gone[path]
            self.gone[path] = (row, left - 1)
            if left <= 1:
                del self.gone[path]
            return row
        return True

    def listed(self, rows: Rows, collection: str, below: str) -> Rows:
        """The rows that a listing shows; each of them is looked at once."""
        ghosts = [
            path
            for path in self.gone
            if path.split("/")[-2] == collection and path.startswith(below)
        ]
        found = {path: row for path, row in rows.items() if self.look(path) is True}
        for path in ghosts:
            shown = self.look(path)
            if isinstance(shown, dict):
                found[path] = shown
        return found

    def settle(self) -> None:
        """As if everybody had looked often enough."""
        self.unseen.clear()
        self.gone.clear()
