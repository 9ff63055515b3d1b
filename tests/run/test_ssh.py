"""`diskbench run --provider ssh`: a real sshd, connections that break, hosts that fail alone."""

import json
from pathlib import Path

import pytest
from tests.rigs.cli import WRITE_THEN_READ, merged_rows, over_ssh
from tests.rigs.sshd import running_sshd

JOB = WRITE_THEN_READ.format(seconds=1)


@pytest.fixture
def sshd(tmp_path):
    with running_sshd(tmp_path / "sshd") as server:
        yield server


def run_args(target, profile, *hosts):
    named = [part for host in hosts for part in ("--host", host)]
    return ["run", "--provider", "ssh", *named, "--path", str(target), "--profile", str(profile)]


def test_a_run_leaves_rows_and_nothing(user, sshd, target, profile):
    user = over_ssh(user, sshd.config_block("box"))
    (run,) = user.json(*run_args(target, profile, "box"), "--quiet")["runs"]
    assert run["state"] == "done"
    assert [(r["step"], r["direction"]) for r in merged_rows(run)] == [
        ("write", "write"),
        ("read", "read"),
    ]
    assert list(target.iterdir()) == []
    assert not list(Path("/var/tmp").glob(f"diskbench-{run['trial_id']}"))


def test_a_host_that_fails_costs_no_other(user, sshd, target, profile):
    nobody = "Host gone\n  HostName 127.0.0.1\n  Port 1\n"
    user = over_ssh(user, sshd.config_block("box") + sshd.config_block("second") + nobody)
    done = user.run(
        *run_args(target, profile, "box", "gone", "second"), "--quiet", "--output", "json"
    )
    assert (done.returncode, "gone" in done.stderr) == (2, True), done.stderr
    runs = json.loads(done.stdout)["runs"]
    assert [(r["address"], r["state"]) for r in runs] == [("box", "done"), ("second", "done")]


def test_a_changed_host_key_is_refused_and_nothing_is_written(user, sshd, target, profile):
    other = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGxhbmd1YWdlIGlzIGEgdmlydXMgZnJvbSBvdXRlcg"
    sshd.known_hosts.write_text(f"*-key-{sshd.port} {other}\n")
    user = over_ssh(user, sshd.config_block("box"))
    assert "key" in user.refused(*run_args(target, profile, "box")).stderr.lower()
    assert list(target.iterdir()) == []
