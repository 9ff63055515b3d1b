"""What docs/deploy/ and action.yml start and ask for is there, and works; `diskbench schedule`."""

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

import jsonschema
import pytest
import yaml
from tests.rigs.cli import WRITE_THEN_READ
from tests.rigs.replicates import measured

from diskbench.cli.lazy import load
from diskbench.providers.fake.cloud import VARIABLE as FAKE_DIR
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


def test_systemd_knows_every_key_of_the_unit(tmp_path):
    if (tool := shutil.which("systemd-analyze")) is None:
        pytest.skip("no systemd")
    unit = tmp_path / "diskbench-worker.service"
    text = (DEPLOY / unit.name).read_text()
    unit.write_text(text.replace("/opt/diskbench/bin/diskbench", sys.executable))
    verify = (tool, "verify", "--man=no", unit)
    done = subprocess.run(verify, capture_output=True, text=True, check=False)
    assert (done.returncode, unit.name in done.stderr) == (0, False), done.stderr


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
        "DISKBENCH_PATH": ".", "DISKBENCH_PROFILE": "./look.fio",
        "DISKBENCH_FAIL_IF": f"\n{condition}\n",
        "DISKBENCH_OPTIONS": "--label 'team=storage people'",
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
    }  # fmt: skip
    (tmp_path / "look.fio").write_text(WRITE_THEN_READ.format(seconds=1))
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


MATRIX = """name: nightly
defaults: {provider: fake, disk: plain, size: 1, profile: quick}
"""
ADD = ("add", "x", "nightly.yaml", "--cron")
WEEKLY = ("--cron", "30 3 * * 0", "--timezone", "Europe/Berlin")
MISSED = ("schedule", "backfill", "weekly", "--since", "2024-10-19", "--until", "2024-10-28")


@pytest.fixture
def call(call, here, monkeypatch):
    """Runs a command beside `nightly.yaml`; returns its exit code, stdout and stderr."""
    (here / "nightly.yaml").write_text(MATRIX)
    monkeypatch.setenv(FAKE_DIR, str(here / "fake"))
    return call


def test_add_says_when_it_is_due_and_who_begins_it(call):
    code, out, err = call("schedule", "add", "weekly", "nightly.yaml", *WEEKLY)
    assert code == 0
    assert out.splitlines()[0] == "weekly  nightly.yaml  '30 3 * * 0' Europe/Berlin"
    assert "  next  Sun " in out
    assert " 03:30 CE" in out
    assert out.endswith("  last  none yet\n")
    assert err == "weekly is added; workers start it when it is due\n"
    _, _, err = call("schedule", "add", "weekly", "nightly.yaml", *WEEKLY)
    assert err.startswith("weekly is changed")


def test_a_time_is_told_in_the_readers_timezone_too_where_that_differs(call):
    call("schedule", "add", "weekly", "nightly.yaml", *WEEKLY[:-1], "Asia/Kathmandu")
    _, out, _ = call("schedule", "list")
    assert "03:30 +0545 (" in out
    assert " here)" in out


@pytest.mark.slow
def test_the_document_meets_its_schema(call):
    call("schedule", "add", "weekly", "nightly.yaml", *WEEKLY)
    call("schedule", "trigger", "weekly")
    schema = json.loads(call("schema", "schedules")[1])
    for arguments in (("list",), ("show", "weekly")):
        document = call.json("schedule", *arguments)
        jsonschema.validate(document, schema)
        (one,) = document["schedules"]
        assert (one["name"], one["paused"], one["waiting"]) == ("weekly", False, 1)
        assert one["occurrences"][0]["state"] == "queued"


def test_times_to_make_up_for_are_listed_and_a_paused_one_has_no_next_time(call):
    call("schedule", "add", "weekly", "nightly.yaml", *WEEKLY)
    times = "Sun 2024-10-20 03:30 CEST\nSun 2024-10-27 03:30 CET\n"
    assert call(*MISSED) == (0, times, "2 wait for a worker\n")
    assert call(*MISSED) == (0, "", "no time was missed\n")
    assert call("schedule", "pause", "weekly") == (0, "", "weekly is paused\n")
    assert "  next  paused\n" in call("schedule", "list")[1]
    assert "  next  Sun " in call("schedule", "resume", "weekly")[1]


def test_nothing_is_kept_of_one_that_was_removed(call):
    call("schedule", "add", "weekly", "nightly.yaml", *WEEKLY)
    assert call("schedule", "remove", "weekly")[0] == 0
    _, out, err = call("schedule", "list")
    assert out == ""
    assert "add one with" in err
    assert call("schedule", "show", "weekly")[0] == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((*ADD, "30 25 * * 0"), "'25' is not a valid hour"),
        ((*ADD, "@daily", "--timezone", "Europe/Berln"), "names are like Europe/Berlin"),
        ((*ADD, "@daily", "--budget", "0"), "--budget 0 is not an amount"),
        (("add", "x", "none.yaml", "--cron", "@daily"), "none.yaml"),
        (("add", "x", "broken.yaml", "--cron", "@daily"), "broken.yaml:2: unknown fake disk type"),
        (("trigger", "x"), "unknown schedule 'x'"),
        (("backfill", "x", "--since", "2024-10-19"), "unknown schedule 'x'"),
        (("resume", "x"), "unknown schedule 'x'"),
    ],
)
def test_a_mistake_ends_with_2_and_keeps_nothing(call, tmp_path, arguments, said):
    (tmp_path / "broken.yaml").write_text(MATRIX.replace("plain", "plane"))
    assert said in call.refused("schedule", *arguments)
    assert call.json("schedule", "list")["schedules"] == []
