import re
from pathlib import Path

import pytest

import diskbench


@pytest.fixture(autouse=True)
def _wide(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)


def test_each_value_is_printed_with_where_it_came_from_and_as_json(call, tmp_path, monkeypatch):
    (tmp_path / "diskbench.toml").write_text('owner = "ci"\n')
    monkeypatch.setenv("DISKBENCH_DATABASE_URL", "postgresql://me:hunter2@db/x")
    out = call.done("config")
    lines = {line.split()[0]: " ".join(line.split()[1:]) for line in out.splitlines()}
    assert lines["database_url"] == "postgresql://me:***@db/x DISKBENCH_DATABASE_URL"
    assert (lines["owner"], lines["log_format"]) == ("ci diskbench.toml", "human default")
    document = call.json("config")
    assert document["format"] == 1
    assert document["settings"]["log_format"] == {"value": "human", "origin": "default"}


def test_what_is_misspelt_is_told_and_in_a_file_or_a_document_refused(call, monkeypatch, tmp_path):
    monkeypatch.setenv("DISKBENCH_DATABSE_URL", "x")
    code, _, err = call("config")
    assert (code, "DISKBENCH_DATABSE_URL is not a setting" in err) == (0, True), err
    (tmp_path / "diskbench.toml").write_text("databse_url = 'x'\n")
    assert "did you mean database_url" in call.refused("config")
    assert "did you mean results" in call.refused("schema", "result")


def test_every_variable_that_diskbench_reads_is_known(call, monkeypatch):
    read = {
        name
        for path in Path(diskbench.__file__).parent.rglob("*.py")
        if path.name != "agent.py"  # it runs on the measured host
        for name in re.findall(r'"(DISKBENCH_[A-Z_]+)"', path.read_text())
    }
    assert {"DISKBENCH_DEBUG", "DISKBENCH_SSH_CONFIG", "DISKBENCH_LAB_DIR"} <= read
    for name in read - {"DISKBENCH_DATABASE_URL", "DISKBENCH_EVIDENCE_URL"}:
        monkeypatch.setenv(name, "0")
    _, _, err = call("config")
    assert err == ""
