"""`diskbench ab`: real runs on this machine in the order A B B A, and what switches it."""

import json
from pathlib import Path

import pytest
from tests.rigs.cli import WRITE_THEN_READ, Cli


def test_a_broken_series_is_continued_and_compared(user: Cli, target: Path, tmp_path: Path) -> None:
    job, states, ready = tmp_path / "look.fio", tmp_path / "states", tmp_path / "ready"
    job.write_text(WRITE_THEN_READ.format(seconds=1))
    flags = ["ab", "--path", str(target), "--profile", str(job), "--blocks", "1"]
    flags += ["--before", f"echo A >> {states}", "--series", "s1", "--output", "json"]
    flags += ["--after", f"test -e {ready} && echo B >> {states}", "old", "new"]

    broken = user.run(*flags)
    assert (broken.returncode, broken.stdout) == (2, "")
    assert "--series s1" in broken.stderr
    kept = user.json("results", "list", "-f", "ab=s1", "--output", "json")["runs"]
    assert [run["labels"]["ab-side"] for run in kept] == ["old"]

    ready.touch()
    done = user.run(*flags)
    assert done.returncode == 0, done.stderr
    assert states.read_text().split() == ["A", "B", "B", "A"]
    compared = json.loads(done.stdout)["compared"]
    (one,) = (one for one in compared if (one["step"], one["metric"]) == ("read", "iops"))
    assert (one["pairs"], one["n"], one["blocks"], one["in_turn"]) == (2, 1, True, True)
    assert list(target.iterdir()) == []

    again = user.run("compare", "ab-side=old", "ab-side=new", "-f", "ab=s1")
    assert again.returncode == 0, again.stderr
    assert max(map(len, again.stdout.splitlines())) <= 80


BAD = ("--fail-worse much", "--profile no-such-profile", "--label x")


@pytest.mark.parametrize(
    "flags",
    [
        *("--before true", "--after true", "", "same same", "one"),
        *(f"--before true --after true {bad}" for bad in BAD),
    ],
)
def test_what_cannot_be_meant_is_refused_at_once(user: Cli, target: Path, flags: str) -> None:
    done = user.run("ab", "--path", str(target), *flags.split())
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert list(target.iterdir()) == []


def test_a_run_that_fails_ends_the_series_with_1(user: Cli, target: Path, tmp_path: Path) -> None:
    job = tmp_path / "fails.fio"
    job.write_text("[read]\nrw=read\nsize=1m\nbs=4k\nioengine=psync\nverify=md5\nverify_only=1\n")
    flags = ["--before", "true", "--after", "true", "--blocks", "1"]
    done = user.run("ab", "--path", str(target), "--profile", str(job), *flags)
    assert (done.returncode, "--series" in done.stderr) == (1, True), done.stderr
    kept = user.json("results", "list", "--output", "json")["runs"]
    assert [run["state"] for run in kept] == ["failed"]  # its evidence is kept
