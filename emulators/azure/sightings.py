"""Lag: what is new is absent from reads and listings for the first looks at it, what was deleted
is still there for as many.

Resource Manager answers from replicas: a resource may be read with 404 just after it was made
(azure-resource-manager, "Resolve not found errors", wait and retry), and be listed after it was
deleted. Looks, not seconds: tests depend on no clock.
"""

import copy
import re
from dataclasses import dataclass, field
from typing import Any

from emulators.azure.call import Answer, Call, Refusal, filtered, not_found

GROUP = "Microsoft.Resources/resourceGroups"
_KIND = re.compile(r"(?P<above>.*)/providers/(?P<kind>microsoft\.[^/]+/[^/]+)")
_GROUPS = re.compile(r"(?P<above>/subscriptions/[^/]+)/resourcegroups")
_INSIDE = re.compile(r"(?P<above>/subscriptions/[^/]+(/resourcegroups/[^/]+)?)/resources")


@dataclass
class Sightings:
    """How many looks each new or deleted thing still takes until it is seen as it is."""

    new: dict[str, int] = field(default_factory=dict)
    gone: dict[str, int] = field(default_factory=dict)
    ghosts: dict[str, dict[str, Any]] = field(default_factory=dict)
    """What is deleted and still shown, by its id in lower case."""

    def made(self, document: dict[str, Any], lag: int) -> None:
        """A resource is there from now on."""
        key = document["id"].lower()
        self._forget(key)
        if lag:
            self.new[key] = lag

    def dropped(self, document: dict[str, Any], lag: int) -> None:
        """A resource is no more."""
        key = document["id"].lower()
        self.new.pop(key, None)
        if lag:
            self.gone[key], self.ghosts[key] = lag, copy.deepcopy(document)

    def settle(self) -> None:
        """Everything is seen as it is."""
        for kept in (self.new, self.gone, self.ghosts):
            kept.clear()

    def before(self, call: Call) -> Answer | None:
        """What a GET is answered where its answer lags; None where it does not. Raises Refusal."""
        key = call.path.rstrip("/").lower()
        if self._look(self.new, key):
            raise _absent(call)
        if key in self.ghosts:
            shown = self.ghosts[key]
            self._look(self.gone, key)
            return Answer(200, shown)
        inside = _INSIDE.fullmatch(key)
        if inside and inside["above"] in self.ghosts:
            return Answer(200, {"value": self._still(call, key)})
        return None

    def after(self, call: Call, answer: Answer) -> Answer:
        """The answer to a GET; of a listing, without what is new and with what is gone."""
        if not isinstance(answer.body, dict) or not isinstance(answer.body.get("value"), list):
            return answer
        rows = [
            row
            for row in answer.body["value"]
            if not (isinstance(row, dict) and self._look(self.new, str(row.get("id", "")).lower()))
        ]
        shown = [*rows, *self._still(call, call.path.rstrip("/").lower())]
        return Answer(answer.status, {**answer.body, "value": shown}, answer.headers)

    def _still(self, call: Call, path: str) -> list[dict[str, Any]]:
        """The ghosts that a listing shows."""
        found = [one for one in self.ghosts.values() if _lists(path, one)]
        shown = filtered(call, found) if found else []
        for one in shown:
            self._look(self.gone, one["id"].lower())
        return shown

    def _look(self, left: dict[str, int], key: str) -> bool:
        """Whether a look at `key` is one too early; counts it."""
        if key not in left:
            return False
        left[key] -= 1
        if left[key] <= 0:
            del left[key]
            if left is self.gone:
                self._vanish(key)
        return True

    def _vanish(self, key: str) -> None:
        """A ghost is seen no more; what was in a resource group goes with it."""
        for one in [name for name in self.ghosts if name == key or name.startswith(f"{key}/")]:
            del self.ghosts[one]
            self.gone.pop(one, None)

    def _forget(self, key: str) -> None:
        for kept in (self.new, self.gone, self.ghosts):
            kept.pop(key, None)


def _lists(path: str, document: dict[str, Any]) -> bool:
    """Whether a listing at `path` would show a resource."""
    key, kind = document["id"].lower(), document["type"].lower()
    if groups := _GROUPS.fullmatch(path):
        return kind == GROUP.lower() and key.startswith(groups["above"] + "/")
    if inside := _INSIDE.fullmatch(path):
        below = key.startswith(inside["above"] + "/")
        return below and kind != GROUP.lower() and "location" in document
    named = _KIND.fullmatch(path)
    return bool(named) and kind == named["kind"] and key.startswith(named["above"] + "/")


def _absent(call: Call) -> Refusal:
    parts = call.path.strip("/").split("/")
    if len(parts) == 4:
        message = f"Resource group '{parts[-1]}' could not be found."
        return Refusal("ResourceGroupNotFound", message, status=404)
    return not_found("/".join(parts[5:7]), parts[-1], parts[3])
