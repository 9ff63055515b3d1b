"""What commands act on: a directory of the test's own, and what they print."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from diskbench.cli import main


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The test's directory: where commands run, their home, and where the settings name rows and
    evidence."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.setenv("DISKBENCH_DATABASE_URL", f"sqlite:///{tmp_path}/rows.db")
    monkeypatch.setenv("DISKBENCH_EVIDENCE_URL", (tmp_path / "evidence").as_uri())
    return tmp_path


class Caller:
    """Runs command lines in `here`."""

    def __init__(self, capfd: pytest.CaptureFixture[str]) -> None:
        self._capfd = capfd

    def __call__(self, *words: str) -> tuple[int, str, str]:
        """Exit code, stdout and stderr of a command line."""
        self._capfd.readouterr()
        return main.main(list(words)), *self._capfd.readouterr()

    def done(self, *words: str, code: int = 0) -> str:
        """What a command line that ends with `code` prints on stdout."""
        ended, out, err = self(*words)
        assert ended == code, err
        return out

    def json(self, *words: str) -> Any:
        """The document that a command line prints; it must end with 0."""
        return json.loads(self.done(*words, "--output", "json"))

    def refused(self, *words: str) -> str:
        """What a command line says on stderr that is refused."""
        code, out, err = self(*words)
        assert (code, out) == (2, ""), err
        return err


@pytest.fixture
def call(
    here: Path,  # noqa: ARG001 - the settings lead to it
    capfd: pytest.CaptureFixture[str],
) -> Caller:
    return Caller(capfd)


@pytest.fixture
def diskbench(call: Caller, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Run a command line in `here` at 80 columns; returns what it prints on stdout."""
    monkeypatch.setenv("COLUMNS", "80")
    return call.done
