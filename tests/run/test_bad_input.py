"""What cannot be measured is said at once: exit 2, what was wrong, and nothing changed."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.rigs.cli import Cli

pytestmark = pytest.mark.slow


def refused(user: Cli, *args: str) -> str:
    done = user.call_refused("run", *args)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    return done.stderr


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--profile", "quikc"], ["quikc", "quick"]),
        (["--provider", "locla"], ["locla", "local"]),
        (["--profile", "quick", "--set", "runtme=1"], ["runtme", "runtime"]),
        (["--profile", "quick", "--set", "runtime=soon"], ["runtime", "soon"]),
        (["--profile", "quick", "--size", "0"], ["--size 0"]),
        (["--profile", "quick", "--size", "-3"], ["-3"]),
        (["--profile", "quick", "--size", "900000"], ["free"]),
        (["--profile", "quick", "--runs", "0"], ["--runs 0"]),
        (["--profile", "quick", "--replicates", "2"], ["--replicates", "--runs"]),
        (["--profile", "/no/such.fio"], ["/no/such.fio"]),
        (["--profile", "quick", "--filesystem", "xfs"], ["--filesystem xfs"]),
        (["--profile", "quick", "--max-cost", "1"], ["--max-cost 1", "rents nothing"]),
        (["--provider", "fake", "--disk", "plain", "--assume-price", "1"], ["--max-cost USD"]),
    ],
)
def test_flags_that_cannot_be_meant(
    user: Cli, target: Path, args: list[str], said: list[str]
) -> None:
    told = refused(user, "--path", str(target), *args)
    assert all(word in told for word in said), told
    assert list(target.iterdir()) == []


def test_a_path_that_is_not_there(user: Cli, target: Path) -> None:
    assert "no-such" in refused(user, "--path", str(target / "no-such"), "--profile", "quick")


def test_a_path_that_is_a_file(user: Cli, target: Path) -> None:
    file = target / "file"
    file.write_text("kept")
    assert "directory" in refused(user, "--path", str(file), "--profile", "quick")
    assert file.read_text() == "kept"


def test_a_path_that_is_read_only(user: Cli) -> None:
    assert "/proc" in refused(user, "--path", "/proc/sys", "--profile", "quick")


def test_a_device_that_is_not_there(user: Cli) -> None:
    told = refused(user, "--device", "/dev/nope", "--destroy-data", "x", "--profile", "quick")
    assert "/dev/nope" in told


def test_a_device_without_its_identity(user: Cli) -> None:
    told = refused(user, "--device", "/dev/loop0", "--profile", "quick")
    assert "--destroy-data" in told


def test_a_profile_that_fio_refuses(user: Cli, target: Path, tmp_path: Path) -> None:
    profile = tmp_path / "bad.fio"
    profile.write_text("[a]\nrw=readd\nsize=1m\n")
    told = refused(user, "--path", str(target), "--profile", str(profile))
    assert "readd" in told


def test_a_template_with_an_undefined_variable(user: Cli, target: Path, tmp_path: Path) -> None:
    profile = tmp_path / "bad.fio.j2"
    profile.write_text("---\ntitle: t\nquestion: q\nsource: s\n---\n[a]\nrw=read\nsize={{ sze }}\n")
    told = refused(user, "--path", str(target), "--profile", str(profile))
    assert "sze" in told
    assert "line 8" in told


def test_a_job_file_that_reaches_beyond_the_target(user: Cli, target: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("kept")
    profile = tmp_path / "evil.fio"
    profile.write_text("[a]\nrw=write\nsize=1m\nfilename=../victim\n")
    assert "../victim" in refused(user, "--path", str(target), "--profile", str(profile))
    assert victim.read_text() == "kept"


def test_a_host_without_fio(user: Cli, target: Path, tmp_path: Path) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    for folder in ("/usr/bin", "/bin", "/usr/sbin", "/sbin"):
        for tool in Path(folder).iterdir():
            link = tools / tool.name
            if tool.name != "fio" and not link.exists():
                link.symlink_to(tool)
    user.extra_env["PATH"] = str(tools)
    told = refused(user, "--path", str(target), "--profile", "quick")
    assert "fio" in told
    assert "--install-fio" in told


def test_a_database_that_cannot_be_reached(user: Cli, target: Path) -> None:
    url = "postgresql://me:hunter2@127.0.0.1:1/none"
    told = refused(
        user, "--path", str(target), "--profile", "quick", "--database-url", url, "--quiet"
    )
    assert "127.0.0.1" in told
    assert "hunter2" not in told


def test_an_evidence_store_that_cannot_be_written(user: Cli, target: Path) -> None:
    told = refused(
        user, "--path", str(target), "--profile", "quick", "--evidence-url", "file:///proc/none"
    )
    assert "/proc/none" in told
    assert list(target.iterdir()) == []
