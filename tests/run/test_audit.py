"""Whether the figures of a run agree is said when it ends, wherever it is shown."""

from __future__ import annotations

from pathlib import Path

from tests.rigs.cli import WRITE_THEN_READ, Cli


def test_the_audit_of_a_run_is_a_line_at_its_end_and_data_in_json(
    user: Cli, target: Path, tmp_path: Path
) -> None:
    profile = tmp_path / "mine.fio"
    profile.write_text(WRITE_THEN_READ.format(seconds=2))
    done = user.run("run", "--path", str(target), "--profile", str(profile), "-v")
    assert done.returncode == 0, done.stderr
    (line,) = [text for text in done.stdout.splitlines() if "audit: " in text]
    assert "hold" in line
    assert "does not hold" not in line
    (run,) = user.json("results", "show")["runs"]
    assert [one["step"] for one in run["audits"]] == ["write", "read"]
    names = {check["name"]: check["holds"] for check in run["audits"][1]["checks"]}
    assert names == {"bytes": True, "rate": True, "percentiles": True, "end": True, "logs": True}

    page = tmp_path / "page.html"
    assert user.call("report", "last", "-o", str(page)).returncode == 0
    assert "audit: bytes, rate" in page.read_text()
    site = tmp_path / "site"
    assert user.call("publish", str(site), "--quiet").returncode == 0
    assert any("audit: bytes, rate" in one.read_text() for one in site.rglob("*.html"))
