"""What commands act on: a directory of the test's own, and what they print."""

import json

import pytest
from tests.rigs.measured import keep_finished, stores_in
from tests.rigs.plans import make_plan

from diskbench.cli import main


@pytest.fixture
def here(tmp_path, monkeypatch):
    """The test's directory: where commands run, their home, and where the settings name rows and
    evidence."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.setenv("DISKBENCH_DATABASE_URL", f"sqlite:///{tmp_path}/rows.db")
    monkeypatch.setenv("DISKBENCH_EVIDENCE_URL", (tmp_path / "evidence").as_uri())
    return tmp_path


@pytest.fixture(scope="module")
def finished(tmp_path_factory, steps):
    """A folder with the rows and the evidence of two runs of the module's `steps`, to be copied."""
    place = tmp_path_factory.mktemp("finished")
    with stores_in(place) as stores:
        keep_finished(*stores, make_plan(), steps)
    return place


class Caller:
    """Runs command lines in `here`."""

    def __init__(self, capfd):
        self._capfd = capfd

    def __call__(self, *words):
        """Exit code, stdout and stderr of a command line."""
        self._capfd.readouterr()
        return main.main(list(words)), *self._capfd.readouterr()

    def done(self, *words, code=0):
        """What a command line that ends with `code` prints on stdout."""
        ended, out, err = self(*words)
        assert ended == code, err
        return out

    def json(self, *words):
        """The document that a command line prints; it must end with 0."""
        return json.loads(self.done(*words, "--output", "json"))

    def refused(self, *words):
        """What a command line says on stderr that is refused."""
        code, out, err = self(*words)
        assert (code, out) == (2, ""), err
        return err


@pytest.fixture
def call(
    here,  # noqa: ARG001 - the settings lead to it
    capfd,
):
    return Caller(capfd)


@pytest.fixture
def diskbench(call, monkeypatch):
    """Run a command line in `here` at 80 columns; returns what it prints on stdout."""
    monkeypatch.setenv("COLUMNS", "80")
    return call.done
