"""Exchanges with the real Azure that the SDK's own tests recorded: they are in its source packages.

Downloaded once by pip, as it is configured, into the user's cache directory. Secrets in them were
replaced by their authors; so was the subscription's id."""

from __future__ import annotations

import ast
import fcntl
import json
import re
import subprocess
import tempfile
import venv
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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


def recordings() -> Iterator[Recording]:
    """Every recording of every package."""
    for package in PACKAGES:
        with zipfile.ZipFile(_fetched(package)) as archive:
            for name in sorted(archive.namelist()):
                if "/tests/recordings/" in name and not name.endswith("/"):
                    text = archive.read(name).decode()
                    yield Recording(package, Path(name).stem, tuple(_exchanges(name, text)))


def of_file(file: Path) -> Recording:
    """What `diskbench doctor --live` recorded, as one of them."""
    text = re.sub(r"(?<=/subscriptions/)[0-9a-f-]{36}", SUBSCRIPTION, file.read_text("utf-8"))
    made = LiveRecording.model_validate_json(text)
    return Recording("diskbench doctor --live", file.stem, made.exchanges)


def _fetched(package: str) -> Path:
    """The source package in the cache; where it is missing, one process fetches all that are."""
    import platformdirs

    kept = platformdirs.user_cache_path("diskbench-tests") / "azure-recordings"
    kept.mkdir(parents=True, exist_ok=True)
    with (kept / "lock").open("w") as one_at_a_time:
        fcntl.flock(one_at_a_time, fcntl.LOCK_EX)
        missing = [one for one in PACKAGES if not (kept / _file_of(one)).exists()]
        if missing:
            _fetch(missing, kept)
    return kept / _file_of(package)


def _file_of(package: str) -> str:
    return package.replace("==", "-") + ".zip"


def _fetch(packages: Sequence[str], kept: Path) -> None:
    with tempfile.TemporaryDirectory(dir=kept) as scratch:
        # An environment made by uv has no pip.
        venv.create(f"{scratch}/venv", with_pip=True)
        command = [f"{scratch}/venv/bin/pip", "download", "--quiet", "--no-deps"]
        options = ["--no-binary", ":all:", "--dest", scratch]
        for package in packages:
            subprocess.run([*command, *options, package], check=True, stdin=subprocess.DEVNULL)
            (Path(scratch) / _file_of(package)).replace(kept / _file_of(package))


def _exchanges(name: str, text: str) -> Iterator[Exchange]:
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


def _text(body: Any) -> str | None:
    """A request's body: text, bytes, or bytes as Python prints them."""
    if isinstance(body, str) and body.startswith("b'"):
        body = ast.literal_eval(body)
    return body.decode() if isinstance(body, bytes) else body


def _joined(body: Any) -> Any:
    """The proxy keeps an answer that is a list as its lines."""
    if isinstance(body, list) and body and all(isinstance(line, str) for line in body):
        return _parsed("".join(body))
    return body


def _parsed(text: str | None) -> Any:
    try:
        return json.loads(text) if text else None
    except ValueError:
        return text
