"""Recorded requests sent to the emulated Azure, and how its answers differ in form from Azure's."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import requests
from emulators.azure import cloud as emulated
from emulators.azure.identity import CLIENT, token_for
from tests.cloud.azure_recordings import SUBSCRIPTION, Recording
from tests.cloud.rented_azure import Azure

from diskbench.model.finding import Exchange

_IN = "/subscriptions/[^/]+(/resourceGroups/[^/]+)?/providers/"
COVERED = {
    name: re.compile(pattern, re.IGNORECASE)
    for name, pattern in {
        "disk": _IN + "Microsoft.Compute/disks(/[^/]+)?",
        "machine": _IN + "Microsoft.Compute/virtualMachines(/[^/]+)?",
        "image": _IN + "Microsoft.Compute/locations/.*/artifacttypes/vmimage/.*/versions(/[^/]+)?",
        "interface": _IN + "Microsoft.Network/networkInterfaces(/[^/]+)?",
        "address": _IN + "Microsoft.Network/publicIPAddresses(/[^/]+)?",
        "network": _IN + "Microsoft.Network/virtualNetworks(/[^/]+)?",
        "subnet": _IN + "Microsoft.Network/virtualNetworks/[^/]+/subnets(/[^/]+)?",
    }.items()
}
"""What the emulator has, of what was recorded."""
_METHODS = {"disk": "PUT GET DELETE", "machine": "PUT PATCH GET DELETE"}
"""What it answers of them; of the others PUT and GET."""
_HEADERS = ("azure-asyncoperation", "azure-asyncnotification", "location")
_GROUP = re.compile(r"/resourceGroups/([^/?]+)", re.IGNORECASE)


def kind_of(exchange: Exchange) -> str | None:
    """What of the emulator answers it; None for what it does not have."""
    kind = next((name for name, form in COVERED.items() if form.fullmatch(exchange.path)), None)
    answered = _METHODS.get(kind or "", "PUT GET").split()
    return kind if exchange.method in answered else None


@dataclass(frozen=True)
class Difference:
    """How one of our answers is not as Azure's was with that version of its API."""

    what: str
    api_version: str

    def __str__(self) -> str:
        return f"{self.what} ({self.api_version})"


@dataclass
class Replay:
    """One recording sent to the emulator."""

    azure: Azure
    differences: list[Difference] = field(default_factory=list)
    compared: list[str] = field(default_factory=list)
    session: requests.Session = field(default_factory=requests.Session)

    def play(self, recording: Recording) -> None:
        """Send all that is covered, in order, each operation awaited."""
        groups: set[str] = set()
        for exchange in recording.exchanges:
            kind = kind_of(exchange)
            if kind is None:
                continue
            for group in _GROUP.findall(exchange.path):
                if group.lower() not in groups:
                    groups.add(group.lower())
                    self._make_group(group)
            what = f"{exchange.method} {kind}"
            self.compared.append(what)
            answer = self._send(exchange.method, exchange.url, exchange.asked)
            self._compare(what, exchange, answer)
            self._await(what, recording, exchange, answer)

    def _make_group(self, group: str) -> None:
        path = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/{group}?api-version=2024-11-01"
        self._send("PUT", path, {"location": "eastus"})

    def _await(
        self, what: str, recording: Recording, exchange: Exchange, answer: requests.Response
    ) -> None:
        """Look at the operation until it is over, and compare each of its states."""
        url = answer.headers.get("Azure-AsyncOperation")
        if url is None:
            return
        path = _path(exchange.headers.get("azure-asyncoperation", ""))
        looks = (one for one in recording.exchanges if one.path == path)
        real = {one.body["status"]: one for one in looks if "monitor=true" not in one.url}
        status = "InProgress"
        while status == "InProgress":
            looked = self.session.get(url, **self._how())
            status = looked.json()["status"]
            if status in real:
                self._compare(f"{what}, {status}", real[status], looked)
        if status != "Succeeded":
            self._differ(f"{what}: the operation ended with {looked.json()}", exchange)

    def _compare(self, what: str, real: Exchange, ours: requests.Response) -> None:
        if ours.status_code != real.status:
            self._differ(f"{what}: {ours.status_code}, not {real.status}: {ours.text}", real)
            return
        for name in _HEADERS:
            if (name in ours.headers) != (name in real.headers):
                self._differ(f"{what}: header {name}", real)
        theirs, mine = shape(real.body), shape(ours.json() if ours.content else None)
        for path in sorted(theirs.keys() | mine.keys()):
            if path not in mine:
                self._differ(f"{what}: missing {path}", real)
            elif path not in theirs:
                self._differ(f"{what}: invented {path}", real)
            elif not mine[path] <= theirs[path]:
                self._differ(f"{what}: {path} is {mine[path]}, not {theirs[path]}", real)

    def _differ(self, what: str, real: Exchange) -> None:
        self.differences.append(Difference(what, real.api_version))

    def _send(self, method: str, url: str, body: Any) -> requests.Response:
        given = self.azure.endpoint + url.replace(SUBSCRIPTION, emulated.SUBSCRIPTION)
        asked = _ours(body) if body else None
        return self.session.request(method, given, json=asked, **self._how())

    def _how(self) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {token_for(CLIENT)}"}
        return {"headers": headers, "verify": str(self.azure.cloud.ca_file), "timeout": 60}


def _path(url: str) -> str:
    return re.sub(r"^https://[^/]+", "", url).partition("?")[0]


def _ours(body: Any) -> Any:
    """The body, with the emulated subscription in its ids."""
    if isinstance(body, dict):
        return {key: _ours(value) for key, value in body.items()}
    if isinstance(body, list):
        return [_ours(value) for value in body]
    return body.replace(SUBSCRIPTION, emulated.SUBSCRIPTION) if isinstance(body, str) else body


def shape(document: Any) -> dict[str, set[str]]:
    """Path → types found there. Lists count as one element that has the members of all; what is
    below `tags` is data."""
    found: dict[str, set[str]] = {}
    for path, kind in _walk(document, ""):
        found.setdefault(path, set()).add(kind)
    return found


def _walk(document: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(document, dict):
        yield path, "object"
        if path.endswith(".tags"):
            return
        for name, value in document.items():
            yield from _walk(value, f"{path}.{name}")
    elif isinstance(document, list):
        yield path, "array"
        for value in document:
            yield from _walk(value, f"{path}[]")
    else:
        yield path, _named(document)


def _named(value: Any) -> str:
    names = {bool: "boolean", type(None): "null", int: "number", float: "number"}
    return names.get(type(value), "string")
