"""What commands act on: a directory of the test's own, and what they print."""

from collections.abc import Callable
from pathlib import Path

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


@pytest.fixture
def call(
    here: Path,  # noqa: ARG001 - the settings lead to it
    capfd: pytest.CaptureFixture[str],
) -> Callable[..., tuple[int, str, str]]:
    """Run a command line in `here`; returns exit code, stdout and stderr."""

    def run(*words: str) -> tuple[int, str, str]:
        capfd.readouterr()
        return main.main(list(words)), *capfd.readouterr()

    return run


@pytest.fixture
def diskbench(
    call: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., str]:
    """Run a command line in `here` at 80 columns; returns what it prints on stdout."""
    monkeypatch.setenv("COLUMNS", "80")

    def run(*words: str, code: int = 0) -> str:
        ended, out, _ = call(*words)
        assert ended == code
        return out

    return run
