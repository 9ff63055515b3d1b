"""What cannot be measured is said at once: exit 2, what was wrong, and nothing changed."""

from pathlib import Path

import pytest
from tests.rigs.cli import Cli


def refused(user: Cli, *args: str) -> str:
    done = user.call_refused("run", *args)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    return done.stderr


AT = ("--path", "{target}")
QUICK = (*AT, "--profile", "quick")
NO_SERVER = "postgresql://me:hunter2@127.0.0.1:1/none"


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ((*AT, "--profile", "quikc"), ["quikc", "quick"]),
        ((*AT, "--provider", "locla"), ["locla", "local"]),
        ((*QUICK, "--set", "runtme=1"), ["runtme", "runtime"]),
        ((*QUICK, "--set", "runtime=soon"), ["runtime", "soon"]),
        ((*QUICK, "--size", "0"), ["--size 0"]),
        ((*QUICK, "--size", "-3"), ["-3"]),
        ((*QUICK, "--size", "900000"), ["free"]),
        ((*QUICK, "--runs", "0"), ["--runs 0"]),
        ((*QUICK, "--replicates", "2"), ["--replicates", "--runs"]),
        ((*AT, "--profile", "/no/such.fio"), ["/no/such.fio"]),
        ((*QUICK, "--filesystem", "xfs"), ["--filesystem xfs"]),
        ((*QUICK, "--max-cost", "1"), ["--max-cost 1", "rents nothing"]),
        ((*AT, "--provider", "fake", "--disk", "plain", "--assume-price", "1"), ["--max-cost USD"]),
        (("--path", "{target}/no-such", "--profile", "quick"), ["no-such"]),
        (("--path", "/proc/sys", "--profile", "quick"), ["/proc"]),
        (("--device", "/dev/nope", "--destroy-data", "x", "--profile", "quick"), ["/dev/nope"]),
        (("--device", "/dev/loop0", "--profile", "quick"), ["--destroy-data"]),
        ((*QUICK, "--database-url", NO_SERVER, "--quiet"), ["127.0.0.1"]),
        ((*QUICK, "--evidence-url", "file:///proc/none"), ["/proc/none"]),
    ],
)
def test_what_cannot_be_meant_or_used(
    user: Cli, target: Path, args: tuple[str, ...], said: list[str]
) -> None:
    told = refused(user, *(word.format(target=target) for word in args))
    assert all(word in told for word in said), told
    assert "hunter2" not in told
    assert list(target.iterdir()) == []


def test_a_profile_that_fio_or_jinja_refuses(user: Cli, target: Path, tmp_path: Path) -> None:
    profile = tmp_path / "bad.fio"
    profile.write_text("[a]\nrw=readd\nsize=1m\n")
    assert "readd" in refused(user, "--path", str(target), "--profile", str(profile))
    profile = tmp_path / "bad.fio.j2"
    profile.write_text("---\ntitle: t\nquestion: q\nsource: s\n---\n[a]\nrw=read\nsize={{ sze }}\n")
    told = refused(user, "--path", str(target), "--profile", str(profile))
    assert "sze" in told
    assert "line 8" in told


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
