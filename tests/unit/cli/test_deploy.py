"""What docs/deploy/ starts is a worker as it is."""

import configparser
import re
import shlex
from pathlib import Path

from diskbench.cli.lazy import load
from diskbench.settings import load_settings

DEPLOY = Path(__file__).parents[3] / "docs/deploy"


def options_of_worker() -> set[str]:
    return {name for param in load("worker").params for name in param.opts}


def settings_of(text: str) -> dict[str, str]:
    return dict(re.findall(r"^([A-Z_]+)=(.*)$", text, re.MULTILINE))


def test_the_unit_starts_a_worker_with_options_that_it_has():
    unit = configparser.ConfigParser(interpolation=None, strict=False)
    unit.optionxform = str
    unit.read(DEPLOY / "diskbench-worker.service")
    program, *words = shlex.split(unit["Service"]["ExecStart"])
    assert program.endswith("/diskbench")
    flags = words[words.index("worker") + 1 :]
    assert {word for word in flags if word.startswith("--")} <= options_of_worker()
    used = set(re.findall(r"\$\{(\w+)\}", unit["Service"]["ExecStart"]))
    assert used <= set(settings_of((DEPLOY / "worker.env").read_text()))
    assert unit["Service"]["KillMode"] == "process", "fio of this machine goes on"


def test_the_environment_holds_nothing_that_diskbench_does_not_know(tmp_path):
    environ = settings_of((DEPLOY / "worker.env").read_text())
    loaded = load_settings(environ=environ, directory=tmp_path, user_directory=tmp_path)
    assert loaded.unknown_variables == ()
    assert loaded.settings.evidence_url.startswith("s3://")


def test_the_container_runs_the_worker_from_files_that_are_there():
    text = (DEPLOY / "Containerfile").read_text()
    assert '"worker"]' in text
    for name in re.findall(r"requirements/\w+\.txt", text):
        assert (DEPLOY.parents[1] / name).exists()
