"""What cannot be measured is said at once: exit 2, what was wrong, and nothing changed."""

import pytest
from tests.rigs.windows import path_without


def refused(user, *args):
    done = user.refused("run", *args)
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
def test_what_cannot_be_meant_or_used(user, target, args, said):
    told = refused(user, *(word.format(target=target) for word in args))
    assert all(word in told for word in said), told
    assert "hunter2" not in told
    assert list(target.iterdir()) == []


def test_a_profile_that_fio_or_jinja_refuses(user, target):
    bad = user.job("[a]\nrw=readd\nsize=1m\n")
    assert "readd" in refused(user, "--path", str(target), "--profile", bad)
    head = "---\ntitle: t\nquestion: q\nsource: s\n---\n"
    bad = user.job(f"{head}[a]\nrw=read\nsize={{{{ sze }}}}\n", "bad.fio.j2")
    told = refused(user, "--path", str(target), "--profile", bad)
    assert "sze" in told
    assert "line 8" in told


def test_a_host_without_fio(user, target, tmp_path):
    user.extra_env["PATH"] = path_without(tmp_path / "bin", "fio")
    told = refused(user, "--path", str(target), "--profile", "quick")
    assert "fio" in told
    assert "--install-fio" in told
