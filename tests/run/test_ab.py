"""`diskbench ab`: real runs on this machine in the order A B B A, and what switches it."""

import json

import pytest


def test_a_broken_series_is_continued_and_compared(user, target, tmp_path):
    states, ready = tmp_path / "states", tmp_path / "ready"
    flags = ["ab", "--path", str(target), "--profile", user.job(), "--blocks", "1"]
    flags += ["--before", f"echo A >> {states}", "--series", "s1", "--output", "json"]
    flags += ["--after", f"test -e {ready} && echo B >> {states}", "old", "new"]

    broken = user.run(*flags)
    assert (broken.returncode, broken.stdout) == (2, "")
    assert "--series s1" in broken.stderr
    kept = user.json("results", "list", "-f", "ab=s1", "--output", "json")["runs"]
    assert [run["labels"]["ab-side"] for run in kept] == ["old"]

    ready.touch()
    done = user.done(*flags)
    assert states.read_text().split() == ["A", "B", "B", "A"]
    compared = json.loads(done.stdout)["compared"]
    (one,) = (one for one in compared if (one["step"], one["metric"]) == ("read", "iops"))
    assert (one["pairs"], one["n"], one["blocks"], one["in_turn"]) == (2, 1, True, True)
    assert list(target.iterdir()) == []

    again = user.done("compare", "ab-side=old", "ab-side=new", "-f", "ab=s1")
    assert max(map(len, again.stdout.splitlines())) <= 80


BAD = ("--fail-worse much", "--profile no-such-profile", "--label x")


@pytest.mark.parametrize(
    "flags",
    [
        *("--before true", "--after true", "", "same same", "one"),
        *(f"--before true --after true {bad}" for bad in BAD),
    ],
)
def test_what_cannot_be_meant_is_refused_at_once(user, target, flags):
    user.refused("ab", "--path", str(target), *flags.split())
    assert list(target.iterdir()) == []


def test_a_run_that_fails_ends_the_series_with_1(user, target):
    fails = "[read]\nrw=read\nsize=1m\nbs=4k\nioengine=psync\nverify=md5\nverify_only=1\n"
    flags = ["--before", "true", "--after", "true", "--blocks", "1"]
    done = user.run("ab", "--path", str(target), "--profile", user.job(fails), *flags)
    assert (done.returncode, "--series" in done.stderr) == (1, True), done.stderr
    kept = user.json("results", "list", "--output", "json")["runs"]
    assert [run["state"] for run in kept] == ["failed"]  # its evidence is kept
