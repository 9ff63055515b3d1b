"""`diskbench doctor` as its tests run it: in this process, as the command line does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema

from diskbench.cli import main
from diskbench.cli.schema import _schema


class Doctor:
    """A user who asks the doctor, with stores of their own."""

    def __init__(self, home: Path, capsys: Any, monkeypatch: Any) -> None:
        self.capsys = capsys
        monkeypatch.setenv("HOME", str(home))
        monkeypatch.setenv("XDG_DATA_HOME", str(home / "data"))
        monkeypatch.setenv("DISKBENCH_DATABASE_URL", f"sqlite:///{home}/rows.db")
        monkeypatch.setenv("DISKBENCH_EVIDENCE_URL", (home / "evidence").as_uri())
        monkeypatch.chdir(home)

    def text(self, *flags: str) -> tuple[int, str, str]:
        """Exit code, stdout and stderr."""
        self.capsys.readouterr()
        code = main.main(["doctor", *flags])
        out, err = self.capsys.readouterr()
        return code, out, err

    def asked(self, *flags: str) -> tuple[int, list[dict[str, Any]]]:
        """Exit code and findings; the document meets its schema."""
        code, out, err = self.text("--output", "json", *flags)
        assert out, err
        document = json.loads(out)
        jsonschema.validate(document, _schema("doctor"))
        return code, document["findings"]


def of(findings: list[dict[str, Any]], check: str, where: str = "") -> list[dict[str, Any]]:
    """The findings of a check, in a place whose name begins so."""
    return [one for one in findings if one["check"] == check and one["where"].startswith(where)]
