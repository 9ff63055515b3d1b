"""Workers on two machines that see nothing of each other but the database: each has a name, pids
and a home of its own. The machine that is measured is a third."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.rigs import waiting
from tests.rigs.cli import Cli
from tests.rigs.postgres import running_postgres
from tests.rigs.sshd import running_sshd

from diskbench.engine.processes import DEAD_AFTER_S
from diskbench.store.campaigns import list_campaigns
from diskbench.store.cells import load_cells
from diskbench.store.claims import list_executors
from diskbench.store.database import open_database
from diskbench.store.rows import find_plan
from diskbench.store.step_rows import load_results

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]  # two minutes where nothing else runs

LONG_S = 90
"""Longer than it takes until the silence of another machine is noticed."""
until = partial(waiting.until, within_s=300.0)
PROFILE = f"""[global]
filename=data
size=1m
direct=0
ioengine=psync
thinktime=1ms
[write]
rw=write
bs=64k
[long]
stonewall
rw=randread
bs=4k
time_based
runtime={LONG_S}
[last]
stonewall
rw=randread
bs=4k
number_ios=50
"""


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Callable[[str], Cli]]:
    """A machine of a name, that reaches the database, the evidence store and two hosts."""
    with running_postgres() as url, running_sshd(tmp_path / "sshd") as sshd:
        reach = tmp_path / "ssh_config"
        reach.write_text(sshd.config_block("db1") + sshd.config_block("db2"))
        shared = {
            "DISKBENCH_DATABASE_URL": url,
            "DISKBENCH_EVIDENCE_URL": (tmp_path / "evidence").as_uri(),
            "DISKBENCH_SECRET": "a secret that all workers share, 32 bytes or more",
            "DISKBENCH_SSH_CONFIG": str(reach),
        }
        (tmp_path / "evidence").mkdir()

        def made(name: str) -> Cli:
            home = tmp_path / name
            home.mkdir()
            return Cli(home, shared)

        yield made


def working(machine: Cli) -> subprocess.Popen[bytes]:
    """A worker there, which takes one cell at a time; its log lies in the machine's home."""
    apart = ["unshare", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc"]
    begin = ["sh", "-c", 'hostname "$0" && exec "$@"', machine.home.name, *machine.command]
    with (machine.home / "log").open("wb") as sink:
        return subprocess.Popen(
            [*apart, *begin, "--log-format", "json", "worker", "--concurrency", "1"],
            env=machine.env,
            stdout=sink,
            stderr=sink,
        )


def told(machine: Cli) -> list[dict[str, Any]]:
    whole = (machine.home / "log").read_text().rpartition("\n")[0]  # it is being written
    lines = whole.splitlines()
    return [json.loads(line) for line in lines if line.startswith("{")]


def test_a_machine_that_dies_is_replaced_by_the_other_where_it_stood(
    machine, tmp_path, record_property
):
    here, there = machine("here"), machine("there")
    profile = here.home / "three.fio"
    profile.write_text(PROFILE)
    for name in ("db1", "db2"):
        (tmp_path / name).mkdir()
    hosts = [{"host": name, "path": str(tmp_path / name)} for name in ("db1", "db2")]
    matrix = here.home / "matrix.yaml"
    fields = {"provider": "ssh", "profile": str(profile), "if_busy": "share"}
    matrix.write_text(json.dumps({"name": "m", "defaults": fields, "axes": {"where": hosts}}))
    workers = {one.home.name: working(one) for one in (here, there)}
    try:
        queued = here.run("matrix", "run", str(matrix), "--queue")
        assert queued.returncode == 0, queued.stderr

        def busy() -> list[Any]:
            cells = here.json("status")["cells"]
            return [one for one in cells if one["doing"].startswith("long at ")]

        until(lambda: len(busy()) == 2, "fio's first figures on both hosts")
        seen = here.json("status")["workers"]
        assert {one["hostname"] for one in seen} == {"here", "there"}
        workers["there"].kill()
        workers["there"].wait()
        database = open_database(here.extra_env["DISKBENCH_DATABASE_URL"])
        (dead,) = [one for one in list_executors(database) if one.hostname == "there"]
        taken = until(
            lambda: [one for one in told(here) if one["event"].startswith("takes over")],
            "the takeover",
        )
        silent_s = (datetime.now(UTC) - moment(dead.beat_at)).total_seconds()
        until(lambda: list_campaigns(database)[0].state == "done", "the end of the matrix")
        (campaign,) = list_campaigns(database)
        cells = load_cells(database, campaign.campaign_id)
        steps = {}
        for cell in cells:
            plan = find_plan(database, cell.trial_id or "")
            assert plan is not None
            steps[cell.trial_id] = load_results(database, *plan.run_ids)[plan.run_ids[0]]
        database.dispose()
    finally:
        for worker in workers.values():
            worker.kill()
            worker.wait()
        print("\n".join((one.home / "log").read_text() for one in (here, there)))
    assert [cell.state for cell in cells] == ["done", "done"]
    assert len(taken) == 1
    assert silent_s >= DEAD_AFTER_S
    for found in steps.values():
        assert [one.step for one in found] == ["write", "long", "last"], "each step once"
    own, other = (
        steps[one.trial_id] for one in sorted(cells, key=lambda c: c.trial_id == taken[0]["trial"])
    )
    wall = [gap(found) for found in (own, other)]
    record_property("noticed_after_s", round(silent_s, 1))
    record_property("wall_time_lost_s", round(wall[1] - wall[0], 1))
    print(
        f"noticed {silent_s:.1f} s after the last beat; wall time lost: {wall[1] - wall[0]:.1f} s"
    )


def gap(steps: Any) -> float:
    """Seconds from the end of the long step to the beginning of the last."""
    ends, begins = steps[1].finished_at, steps[2].started_at
    return (moment(begins) - moment(ends)).total_seconds()


def moment(text: Any) -> datetime:
    return text if isinstance(text, datetime) else datetime.fromisoformat(text)
