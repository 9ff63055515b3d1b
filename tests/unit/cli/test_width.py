"""What a person reads fits 80 columns; a word that must be copied whole may be longer."""

import pytest

from diskbench.cli import main


@pytest.mark.parametrize(
    "command",
    [
        "providers", "profiles list", "profiles show diskspd", "matrix list", "published list",
        "published show iaas-2018/results/gp2", "catalog disks",
        "catalog instances --provider azure", "catalog show Standard_D2s_v3",
        "plan --provider aws --disk gp2 --size 20 --profile sustained --offline", "results list",
        "config",
    ],
)  # fmt: skip
def test_no_line_is_wider(command, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("DISKBENCH_DATABASE_URL", "sqlite:///rows.db")
    assert main.main(command.split()) == 0
    lines = capfd.readouterr().out.splitlines()
    assert [line for line in lines if len(line) > 80 and len(line.split()) > 1] == []
