"""What diskbench says of each row of the scoreboard, by the code that users run."""

from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from tests.books import SHIPPED
from tests.limiter_case import judge
from tests.rigs.fio_reports import FORMS, Disk, Told
from tests.rigs.made_trial import judged
from tests.rigs.synthetic import Noise, settling, steps

from diskbench.analysis.phases import step_phases
from diskbench.analysis.run_course import joint_courses
from diskbench.analysis.setting import Setting
from diskbench.analysis.shown import shown, trust_of, verdicts_by_step
from diskbench.analysis.stretches import Measured, StepPromise
from diskbench.analysis.verdict import verdict
from diskbench.catalog.expect import Stage, expect_on
from diskbench.model.expectation import Load
from diskbench.plan.expectation import expected_afterwards
from diskbench.plan.limit_path import Hint, limit_paths_of, named_disk
from diskbench.plan.published import published_verdict
from diskbench.report.assemble.summary import Facts as Trial
from diskbench.report.terminal.verdict_text import verdict_lines
from diskbench.results.verdicts import trial_verdicts
from diskbench.store.database import open_database
from diskbench.store.evidence import open_evidence
from diskbench.store.import_sources import read_sources
from diskbench.store.imports import imported
from diskbench.store.query import runs_by_id


@dataclass(frozen=True)
class Ours:
    """The verdict in the words of the scoreboard. `cliff` is the second (or the run, from 1) of the
    first fall that was found, `text` the printed verdict."""

    limiter: str
    regime: str
    trust: str
    cliff: float | None = None
    text: str = ""


NOTHING = Ours("nothing", "none", "none")
"""The verdict on a step that was not found."""


def of_published(figure):
    """The verdict on a published figure."""
    found = published_verdict(figure, SHIPPED)
    has_rate = not figure.metric.startswith("lat_")
    return _ours(found, found.stands_for) if has_rate else _ours(found, None)


def of_case(case):
    """The verdict on a recorded case, on the stretch that it asks about."""
    found = judge(case)
    return _ours(found, found.stretches[case.get("main", found.main)])


def of_series(row):
    """The verdict on a made series."""
    return _over_runs(row) if "runs" in row else _of_step(row)


def of_trial(row):
    """The verdict on a step of a made trial, over all its runs."""
    verdicts = judged(row)
    by_step = verdicts_by_step(verdicts)
    of_step = by_step[row["of"] if "of" in row else next(iter(by_step))]
    stands = shown(of_step)
    told = Trial("", None, (), verdicts=verdicts)  # what it gave needs no subject
    text = " ".join(f"{told.gave()} {lines_of(verdicts)}".split())
    return replace(_ours(stands, stands.stands_for), trust=trust_of(of_step), text=text)


def lines_of(verdicts):
    """The printed verdicts."""
    return "\n".join(text for _, text in verdict_lines(verdicts))


def of_imports(rows):
    """The verdicts on the steps of imported reports, in order, by the names of the rows (row and
    form), through the stores that users have."""
    with TemporaryDirectory() as folder:
        database = open_database(f"sqlite:///{folder}/db")
        evidence = open_evidence(f"file://{folder}/evidence")
        ours = {}
        for at, (name, (row, form)) in enumerate(rows.items()):
            sources = _report(Path(folder, f"{at}.txt"), row, form)
            hint = {"as_disk": row["disk"]} if "disk" in row else {}
            read = list(imported(database, evidence, sources, hint, "0"))
            ids = [one.manifest.run_id for one in read]
            runs = list(map(runs_by_id(database, ids).get, ids))
            found = trial_verdicts(database, evidence, runs, books=SHIPPED)
            ours[name] = [_ours(one, one.stands_for) for one in found]
        database.dispose()
    return ours


def _report(path, row, form):
    """The sources of a report in a form; `apart`: each job is a process of its own."""
    jobs = [Told(**job) for job in row["jobs"]]
    disks = [Disk(**disk) for disk in row.get("disks", ())]
    parts = [[job] for job in jobs] if row.get("apart") else [jobs]
    command = f"$ {row['command']}\n" if "command" in row else ""
    path.write_text(command + "\n".join(FORMS[form](part, disks) for part in parts))
    return read_sources([path])[0]


def _ours(found, stretch, cliff=None):
    codes = {reason.code for reason in found.reasons}
    if stretch is None:
        regime, limiter = "none", found.stands_for.limiter.name
    else:
        limiter = stretch.limiter.name
        regime = "mixed" if "mixed" in codes else "burst" if stretch.kind == "burst" else "lasting"
    return Ours(limiter, regime, found.trust, cliff)


def _of_step(row):
    load = Load(**row["load"])
    if "mean" in row:
        mean, seconds = row["mean"]
        phases, values = None, np.full(int(seconds), float(mean))
    else:
        values = _values(row)
        seconds = values.size
        phases = step_phases(values, values * load.block_bytes)
    mean = float(values.mean())
    promise = _promise(row, load, [Stage(load, seconds, reached=mean)])[0]
    measured = Measured(0, row["name"], mean, mean * load.block_bytes, seconds, phases=phases)
    found = verdict(measured, _setting(row, load, seconds), promise)
    cliff = phases.cliffs[0].at_s if phases and phases.cliffs else None
    return _ours(found, found.stretches[row.get("main", found.main)], cliff)


def _over_runs(row):
    load, seconds = Load(**row["load"]), row["seconds"]
    values = [float(value) for value in _made(row["runs"], row)]
    idle = row.get("idle", 0.0)
    past = [
        Stage(load, seconds, reached=value, idle_s=idle if at else 0.0)
        for at, value in enumerate(values)
    ]
    promises = _promise(row, load, past)
    series = {row["name"]: list(enumerate(values))}
    if "beside" in row:  # another step of the same runs
        series["beside"] = list(enumerate(float(value) for value in _made(row["beside"], row)))
    courses = joint_courses(series)[row["name"]] or (None,) * len(values)
    measured = Measured(
        0, row["name"], values[-1], values[-1] * load.block_bytes, seconds, course=courses[-1]
    )
    found = verdict(measured, _setting(row, load, seconds), promises[-1])
    fell = next((one for one in courses if one is not None and one.fell_from), None)
    return _ours(found, found.stands_for, fell.start + 1 if fell else None)


def _values(row):
    if "settling" in row:
        start, end, tau_s, seconds = row["settling"]
        return settling(start, end, tau_s, seconds, _noise(row), seed=row.get("seed", 1))
    return _made(row["levels"], row)


def _made(levels, row):
    return steps([tuple(level) for level in levels], _noise(row), seed=row.get("seed", 1))


def _noise(row):
    return Noise(**{"sd": 0.01, **row.get("noise", {})})


def _setting(row, load, seconds):
    return Setting(
        load=load,
        seconds=seconds,
        host_cache=Hint(as_disk=row.get("disk")).has_cache,
        memory_share=row.get("memory_share", 1.0),
    )


def _promise(row, load, past):
    if "disk" not in row:
        return [None] * len(past)
    day = row.get("measured_on", "2026-03-10")
    path = limit_paths_of(named_disk(row["disk"]), row.get("machine"), SHIPPED, day=day)[0]
    if "credit" in row:
        left = row["credit"]
        expected = expect_on(path, load, credit=[gate.capacity * left for gate in path.gates])
        shares = {gate.limit: left for gate in path.gates if gate.capacity}
        return [StepPromise(expected, credit=shares)] * len(past)
    return [
        StepPromise(one[0], credit=one[1], is_guess=True) if one else None
        for one in expected_afterwards(path, past)
    ]
