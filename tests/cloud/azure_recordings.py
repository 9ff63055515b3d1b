"""Exchanges with the real Azure that the SDK's own tests recorded, and the same requests sent to
the emulated one: how its answers differ in form.

They are in the SDK's source packages, downloaded once by pip, as it is configured, into the user's
cache directory. Their authors replaced secrets and the subscription's id."""

import ast
import fcntl
import json
import re
import subprocess
import tempfile
import venv
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

import requests
from emulators.azure import cloud as emulated
from emulators.azure.identity import CLIENT, token_for
from tests.cloud.rented_azure import Azure

from diskbench.model.finding import Exchange
from diskbench.model.finding import Recording as LiveRecording

PACKAGES = (
    "azure-mgmt-compute==18.0.0",
    "azure-mgmt-compute==23.1.0",
    "azure-mgmt-compute==29.1.0",
    "azure-mgmt-network==19.3.0",
)
"""The last of each form that recorded with an API of its time: 2020, 2021, 2022; 2020."""
SUBSCRIPTION = "00000000-0000-0000-0000-000000000000"
_ORIGIN = re.compile(r"^https://[^/]+")


@dataclass(frozen=True)
class Recording:
    """The exchanges of one test, in order."""

    package: str
    test: str
    exchanges: tuple[Exchange, ...]


def recordings():
    """Every recording of every package."""
    for package in PACKAGES:
        with zipfile.ZipFile(_fetched(package)) as archive:
            for name in sorted(archive.namelist()):
                if "/tests/recordings/" in name and not name.endswith("/"):
                    text = archive.read(name).decode()
                    yield Recording(package, Path(name).stem, tuple(_exchanges(name, text)))


def of_file(file):
    """What `diskbench doctor --live` recorded, as one of them."""
    text = re.sub(r"(?<=/subscriptions/)[0-9a-f-]{36}", SUBSCRIPTION, file.read_text("utf-8"))
    made = LiveRecording.model_validate_json(text)
    return Recording("diskbench doctor --live", file.stem, made.exchanges)


def _fetched(package):
    """The source package in the cache; where it is missing, one process fetches all that are."""
    import platformdirs

    kept = platformdirs.user_cache_path("diskbench-tests") / "azure-recordings"
    kept.mkdir(parents=True, exist_ok=True)
    with (kept / "lock").open("w") as one_at_a_time:
        fcntl.flock(one_at_a_time, fcntl.LOCK_EX)
        missing = [one for one in PACKAGES if not (kept / _file_of(one)).exists()]
        if missing:
            with tempfile.TemporaryDirectory(dir=kept) as scratch:
                # An environment made by uv has no pip.
                venv.create(f"{scratch}/venv", with_pip=True)
                command = [f"{scratch}/venv/bin/pip", "download", "--quiet", "--no-deps"]
                options = ["--no-binary", ":all:", "--dest", scratch]
                for one in missing:
                    given = [*command, *options, one]
                    subprocess.run(given, check=True, stdin=subprocess.DEVNULL)
                    (Path(scratch) / _file_of(one)).replace(kept / _file_of(one))
    return kept / _file_of(package)


def _file_of(package):
    return package.replace("==", "-") + ".zip"


def _exchanges(name, text):
    if name.endswith(".json"):  # of the test proxy
        for one in json.loads(text)["Entries"]:
            headers = {key.lower(): str(value) for key, value in one["ResponseHeaders"].items()}
            yield Exchange(
                method=one["RequestMethod"], url=_ORIGIN.sub("", one["RequestUri"]),
                asked=one["RequestBody"], status=one["StatusCode"], headers=headers,
                body=_joined(one["ResponseBody"]),
            )  # fmt: skip
        return
    import yaml

    for one in yaml.load(text, Loader=yaml.CSafeLoader)["interactions"]:  # of vcrpy
        asked, given = one["request"], one["response"]
        headers = {key.lower(): value[0] for key, value in given["headers"].items()}
        yield Exchange(
            method=asked["method"], url=_ORIGIN.sub("", asked["uri"]),
            asked=_parsed(_text(asked.get("body"))), status=given["status"]["code"],
            headers=headers, body=_parsed(given["body"]["string"]),
        )  # fmt: skip


def _text(body):
    """A request's body: text, bytes, or bytes as Python prints them."""
    if isinstance(body, str) and body.startswith("b'"):
        body = ast.literal_eval(body)
    return body.decode() if isinstance(body, bytes) else body


def _joined(body):
    """The proxy keeps an answer that is a list as its lines."""
    if isinstance(body, list) and body and all(isinstance(line, str) for line in body):
        return _parsed("".join(body))
    return body


def _parsed(text):
    try:
        return json.loads(text) if text else None
    except ValueError:
        return text


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


def kind_of(exchange):
    """What of the emulator answers it; None for what it does not have."""
    kind = next((name for name, form in COVERED.items() if form.fullmatch(exchange.path)), None)
    answered = _METHODS.get(kind or "", "PUT GET").split()
    return kind if exchange.method in answered else None


@dataclass
class Replay:
    """One recording sent to the emulator."""

    azure: Azure
    differences: list[tuple[str, str]] = field(default_factory=list)
    """How one of our answers is not as Azure's was, and with which version of its API."""
    compared: list[str] = field(default_factory=list)
    session: requests.Session = field(default_factory=requests.Session)

    def play(self, recording):
        """Send all that is covered, in order, each operation awaited."""
        groups: set[str] = set()
        for exchange in recording.exchanges:
            kind = kind_of(exchange)
            if kind is None:
                continue
            for group in _GROUP.findall(exchange.path):
                if group.lower() not in groups:
                    groups.add(group.lower())
                    path = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/{group}"
                    url = f"{path}?api-version=2024-11-01"
                    self._send("PUT", url, {"location": "eastus"})
            what = f"{exchange.method} {kind}"
            self.compared.append(what)
            answer = self._send(exchange.method, exchange.url, exchange.asked)
            self._compare(what, exchange, answer)
            self._await(what, recording, exchange, answer)

    def _await(self, what, recording, exchange, answer):
        """Look at the operation until it is over, and compare each of its states."""
        url = answer.headers.get("Azure-AsyncOperation")
        if url is None:
            return
        path = _ORIGIN.sub("", exchange.headers.get("azure-asyncoperation", "")).partition("?")[0]
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

    def _compare(self, what, real, ours):
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

    def _differ(self, what, real):
        self.differences.append((what, real.api_version))

    def _send(self, method, url, body):
        given = self.azure.endpoint + url.replace(SUBSCRIPTION, emulated.SUBSCRIPTION)
        # The body, with the emulated subscription in its ids.
        asked = json.dumps(body).replace(SUBSCRIPTION, emulated.SUBSCRIPTION) if body else "null"
        return self.session.request(method, given, json=json.loads(asked), **self._how())

    def _how(self):
        headers = {"Authorization": f"Bearer {token_for(CLIENT)}"}
        return {"headers": headers, "verify": str(self.azure.cloud.ca_file), "timeout": 60}


def shape(document):
    """Path → types found there. Lists count as one element that has the members of all; what is
    below `tags` is data."""
    found: dict[str, set[str]] = {}
    for path, kind in _walk(document, ""):
        found.setdefault(path, set()).add(kind)
    return found


def _walk(document, path):
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
        names = {bool: "boolean", type(None): "null", int: "number", float: "number"}
        yield path, names.get(type(document), "string")
