"""What docs/deploy/ and action.yml start and ask for is there, and works."""

import configparser
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import yaml
from tests.rigs.replicates import measured

from diskbench.cli.lazy import load
from diskbench.results.exported_rows import exported
from diskbench.settings import traced_settings
from diskbench.store import export
from diskbench.store.database import open_database

DEPLOY = Path(__file__).parents[3] / "docs/deploy"


def settings_of(text: str) -> dict[str, str]:
    return dict(re.findall(r"^([A-Z_]+)=(.*)$", text, re.MULTILINE))


def test_the_unit_starts_a_worker_with_options_that_it_has():
    unit = configparser.ConfigParser(interpolation=None, strict=False)
    unit.optionxform = str
    unit.read(DEPLOY / "diskbench-worker.service")
    program, *words = shlex.split(unit["Service"]["ExecStart"])
    assert program.endswith("/diskbench")
    flags = words[words.index("worker") + 1 :]
    options = {name for param in load("worker").params for name in param.opts}
    assert {word for word in flags if word.startswith("--")} <= options
    used = set(re.findall(r"\$\{(\w+)\}", unit["Service"]["ExecStart"]))
    assert used <= set(settings_of((DEPLOY / "worker.env").read_text()))
    assert unit["Service"]["KillMode"] == "process", "fio of this machine goes on"


def test_the_environment_is_known_to_diskbench_and_the_files_of_the_container_are_there(tmp_path):
    environ = settings_of((DEPLOY / "worker.env").read_text())
    settings, _, unknown = traced_settings(
        environ=environ, directory=tmp_path, user_directory=tmp_path
    )
    assert unknown == []
    assert settings.evidence_url.startswith("s3://")
    text = (DEPLOY / "Containerfile").read_text()
    assert '"worker"]' in text
    for name in re.findall(r"requirements/\w+\.txt", text):
        assert (DEPLOY.parents[1] / name).exists()


ROOT = DEPLOY.parents[1]


def ci_variables():
    """The settings that ci.sh reads, each with its default."""
    return set(re.findall(r"\$\{(DISKBENCH_\w+):-", (DEPLOY / "ci.sh").read_text()))


def test_github_and_gitlab_set_every_variable_that_the_script_reads():
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    (step,) = action["runs"]["steps"]
    assert set(step["env"]) == ci_variables()
    used = {text.removeprefix("${{ inputs.").removesuffix(" }}") for text in step["env"].values()}
    assert used == set(action["inputs"])
    assert "${{" not in step["run"], "an input is never part of a command"
    job = yaml.safe_load((DEPLOY / "gitlab-ci.yml").read_text())["diskbench"]
    assert set(job["variables"]) == ci_variables() | {"DISKBENCH_SOURCE"}
    assert job["artifacts"]["reports"]["junit"] == "diskbench/junit.xml"


@pytest.mark.slow
@pytest.mark.parametrize(("condition", "code"), [("", 0), ("p99 > 1ns", 1), ("p98 > 1ms", 2)])
def test_the_script_of_both_leaves_a_report_and_the_exit_code(tmp_path, condition, code):
    command = shutil.which("diskbench", path=str(Path(sys.executable).parent))
    environ = {
        "PATH": os.environ["PATH"], "HOME": str(tmp_path), "DISKBENCH": command,
        "DISKBENCH_PATH": ".", "DISKBENCH_PROFILE": "quick",
        "DISKBENCH_FAIL_IF": f"\n{condition}\n",
        "DISKBENCH_OPTIONS": "--size 0.0625 --set 'runtime=1'",
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
    }  # fmt: skip
    done = subprocess.run(
        [DEPLOY / "ci.sh"], env=environ, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stderr
    made = {path.name for path in (tmp_path / "diskbench").iterdir()}
    if code == 2:
        assert "p98" in done.stderr
        assert made == set()
        return
    assert made == {"junit.xml", "summary.md", "page.html"}
    suites = ET.parse(tmp_path / "diskbench/junit.xml").getroot()  # noqa: S314 - our own
    assert bool(suites.findall(".//failure")) == bool(code)
    assert (tmp_path / "summary").read_text() == (tmp_path / "diskbench/summary.md").read_text()


def test_the_dashboard_asks_for_families_and_labels_that_the_export_has(tmp_path):
    engine = open_database(f"sqlite:///{tmp_path}/rows.db")
    measured(engine, [3000.0])
    exported_text = b"".join(exported(engine, "prometheus")).decode()
    engine.dispose()
    samples = re.findall(r"^(\w+)\{(.*)\} ", exported_text, re.MULTILINE)
    labels = {name: set(re.findall(r'(\w+)="', text)) for name, text in samples}
    of_steps = labels["diskbench_step_iops"]
    labels |= {f"diskbench_step_{end}": of_steps for end, *_ in export._STEP.values()}
    dashboard = json.loads((DEPLOY / "grafana.json").read_text())
    variables = {item["name"] for item in dashboard["templating"]["list"]}
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    queries += [
        "{}{{{}=~''}}".format(*re.fullmatch(r"label_values\((\w+), (\w+)\)", query).groups())
        for item in dashboard["templating"]["list"]
        if isinstance(query := item["query"], dict) and (query := query["query"])
    ]
    for query in queries:
        selectors = re.findall(r"(diskbench_\w+)\{(.*?)\}", query)
        assert selectors
        for name, matchers in selectors:
            assert set(re.findall(r"(\w+)=~", matchers)) <= labels[name], query
        assert set(re.findall(r"\$(\w+)", query)) <= variables
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])
