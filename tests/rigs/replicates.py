"""Trials of a matrix that were measured, as rows: without a host, fio or evidence."""

from zlib import crc32

from tests.rigs.measured import begin_run
from tests.rigs.plans import make_plan, save_plan
from tests.rigs.runs import a_result, a_row
from ulid import ULID

from diskbench.model.options import RentSpec
from diskbench.model.spec import SharedMachine
from diskbench.store.campaigns import end_run_cell
from diskbench.store.database import transaction
from diskbench.store.schema import run
from diskbench.store.step_rows import save_step


def ulid(at_s, number=0):
    """An id of a moment (Unix seconds), told apart by a number."""
    return str(ULID((at_s * 1000).to_bytes(6, "big") + number.to_bytes(10, "big"))).lower()


def measured(
    database, values, *, at_s=1_790_000_000, campaign=0, disk="gp2", machine=None, labels=(),
    first=0, step="read", block_bytes=4096, facts=None, digest="d1", rented=True, runs=None,
    provider="aws",
):  # fmt: skip
    """One trial a value: replicates of one cell of the campaign number `campaign`."""
    trials = []
    for index, value in enumerate(values):
        number = campaign * 10_000 + crc32(disk.encode()) % 1000 * 10 + first + index
        moment = at_s + campaign * 86_400 + index * 600
        figures = runs[index] if runs else (value,)
        run_ids = tuple(ulid(moment + 1, number * 16 + n) for n in range(len(figures)))
        plan = _plan(run_ids, ulid(moment, number), campaign, at_s, labels, digest)
        cell = plan.cell.model_copy(update={"replicate": first + index})
        if rented:
            where = {"region": "eu-central-1", "instance_type": "m7i.large"}
            spec = RentSpec(disk=disk, size_gib=20, **where)
            cell = cell.model_copy(update={"provider": provider, "address": None, "rent": spec})
        if machine:
            shared = SharedMachine(lease_id=machine, turn=index + 1)
            plan = plan.model_copy(update={"machine": shared})
        found = plan.facts.model_copy(update=facts or {})
        plan = plan.model_copy(update={"cell": cell, "facts": found})
        save_plan(database, plan, "file:///e")
        for run_id, figure in zip(run_ids, figures, strict=True):
            begin_run(database, run_id)
            row = a_row(
                run_id, figure, step=step, block_bytes=block_bytes, rw="randread", iodepth=1
            )
            save_step(database, run_id, a_result(row, started_at="a", finished_at="b"))
        trials.append(plan.trial_id)
    with transaction(database) as connection:
        connection.execute(run.update().values(state="done"))
    for trial_id in trials:
        end_run_cell(database, trial_id)
    return trials


def _plan(run_ids, trial_id, campaign, at_s, labels, digest):
    plan = make_plan(run_ids, labels=tuple(labels))
    profile = plan.profile.model_copy(update={"digest": digest})
    campaign_id = ulid(at_s + campaign * 86_400, campaign)
    return plan.model_copy(
        update={"trial_id": trial_id, "campaign_id": campaign_id, "profile": profile}
    )
