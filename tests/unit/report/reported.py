"""Reports as the tests of the page need them, made of rows and plans."""

from tests.unit.report.made import plan, row

from diskbench.model.doubts import Reason
from diskbench.model.expectation import DiskPrice
from diskbench.model.verdict import Judged, Limiter, Promised, Verdict
from diskbench.report.assemble.report_view import Group, Report
from diskbench.report.assemble.subject import RunFacts, subject_of_plan
from diskbench.report.assemble.view import View

PRICE = DiskPrice(storage_usd=2.0, transactions_usd=None, total_usd=2.0)


def judged(iops, promised=None, *, limiter="disk-iops", evidence=(), **more):
    """A level of a step in blocks of 4 KiB."""
    told = None
    if promised is not None:
        told = Promised(
            iops=promised, low_iops=promised, high_iops=promised, bytes_per_s=promised * 4096,
            limited_by="disk-iops",
        )  # fmt: skip
    return Judged(
        iops=iops, bytes_per_s=iops * 4096, promised=told,
        ratio=iops / promised if promised else None,
        limiter=Limiter(name=limiter, evidence=evidence), **more,
    )  # fmt: skip


def verdict(*levels, step="rand-read-4k-qd32", main=-1, run_id="01trial-run0", **more):
    """On a step; the last level is the one that it stands for."""
    values = {"step_index": 2, "trust": "yes"} | more
    return Verdict(
        run_id=run_id, step=step, stretches=levels, main=main % len(levels), **values
    )  # fmt: skip


def fallen(**more):
    """A burst of 31 s at 2,995 IOPS, then a baseline of 99.6."""
    return verdict(
        judged(2995.0, 3000.0, kind="burst", start_s=0.0, end_s=31.0),
        judged(99.6, 100.0, limiter="credit", kind="baseline", start_s=31.0, end_s=150.0),
        **more,
    )


DOUBT = Reason(code="page-cache", weight="no", message="the device moved nothing")


def trial(rows=None, *, count=1, trial_id="01trial", **more):
    """A trial of `count` runs, with the rows given, or one of each run."""
    made = plan(runs=count, trial_id=trial_id)
    notes = tuple(
        RunFacts(run_id, "done", "2026-11-21T10:00:00+00:00", evidence=f"file:///e/runs/{run_id}/")
        for run_id in made.run_ids
    )
    measured = [row(run_id=one) for one in made.run_ids] if rows is None else rows
    values = {"subject": subject_of_plan(made), "runs": notes, "measurements": tuple(measured)}
    return View(trial_id=trial_id, **(values | more))


def report(*trials, words="aws gp2 20 GiB, quick", **more):
    """A report on the trials, which are replicates of one subject."""
    return reported([group(words, *(trials or [trial()]))], **more)


def group(words, *trials, short="", number=1):
    """Trials of one subject."""
    return Group(words, trials, short, number)


def reported(groups, **more):
    """A report on groups of trials."""
    return Report(asked="last", groups=tuple(groups), **more)
