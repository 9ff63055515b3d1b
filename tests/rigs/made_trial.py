"""A trial whose series are made, judged as a stored one is: runs, their steps, rows, seconds and
times, by a description in plain data (benchmarks/scoreboard_rows/trials.yaml says its form)."""

from dataclasses import fields
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import numpy as np
from tests.books import SHIPPED
from tests.rigs.synthetic import Noise, settling, steps

from diskbench.analysis.changes import SHORTEST_STEP_S
from diskbench.analysis.phases import step_phases
from diskbench.model.metrics import Exceeded
from diskbench.model.result import Measurement, StepResult
from diskbench.model.run import Run
from diskbench.model.spec import Step
from diskbench.plan.limit_path import Hint
from diskbench.results.run_evidence import ReadRun, StepEvidence
from diskbench.results.verdicts import judge
from diskbench.units import GIB, NS_PER_S

_NO_RUN = dict.fromkeys(field.name for field in fields(Run))
_BEGAN = datetime(2026, 3, 10, tzinfo=UTC)


def judged(trial):
    hint = Hint(
        as_disk=trial.get("disk"),
        as_machine=trial.get("machine"),
        measured_on=trial.get("measured_on", "2026-03-10"),
    )
    runs, results, read = stored(trial)
    verdicts, _ = judge(runs, results, None, read, SHIPPED, hint=hint)
    return verdicts


def stored(trial):
    """The runs of a made trial, and by their ids the results and the evidence of their steps."""
    series = {step["name"]: _series(step, number) for number, step in enumerate(trial["steps"])}
    at, runs = _BEGAN, []
    results: dict[str, list[StepResult]] = {}
    read: dict[str, ReadRun] = {}
    for number in range(max(len(of) for of in series.values())):
        run_id = f"run-{number:04}"
        runs.append(_run(run_id, number, at, trial))
        results[run_id] = []
        evidence, phases = [], []
        for index, step in enumerate(trial["steps"]):
            if number >= len(series[step["name"]]):
                continue
            values = series[step["name"]][number]
            at += timedelta(seconds=step.get("idle", 0.0))
            began, at = at, at + timedelta(seconds=values.size)
            results[run_id].append(_result(run_id, index, step, values, (began, at)))
            of = {"job": _job(step), "expected_s": float(values.size)}
            made = Step(index=index, name=step["name"], **of)
            exceeded = Exceeded(step["exceeded"]) if "exceeded" in step else None
            evidence.append(StepEvidence(made, exceeded=exceeded))
            if "runs" not in step and values.size >= SHORTEST_STEP_S:
                phases.append(_phases(run_id, index, step, values))
        read[run_id] = ReadRun(tuple(evidence), tuple(phases))
        at += timedelta(seconds=trial.get("idle", 0.0))
    return runs, results, read


def _series(step, number):
    """The seconds of each run of a step: of `runs` one rate a run, else `levels` of one run."""
    noise = Noise(**{"sd": 0.01, **step.get("noise", {})})
    seed = step.get("seed", 1) + number
    if "runs" in step:
        rates = steps([(rate, count) for rate, count in step["runs"]], noise, seed=seed)
        return [np.full(step["seconds"], rate) for rate in rates]
    if "settling" in step:
        start, end, tau_s, seconds = step["settling"]
        return [settling(start, end, tau_s, seconds, noise, seed=seed)]
    levels = [tuple(level) for level in step["levels"]] * step.get("times", 1)
    return [steps(levels, noise, seed=seed)] * step.get("count", 1)


def _phases(run_id, index, step, values):
    found = step_phases(values, values * step["load"]["block_bytes"])
    return found.model_copy(update={"run_id": run_id, "step_index": index, "step": step["name"]})


def _job(step):
    load = {"depth": 32, "direct": True, "random": True, "read_share": 1.0, **step["load"]}
    share = load["read_share"]
    kind = {1.0: "read", 0.0: "write"}.get(share, "rw")
    options = {"rw": ("rand" if load["random"] else "") + kind, "bs": load["block_bytes"]}
    options |= {"iodepth": load["depth"], "direct": int(load["direct"]), "ioengine": "libaio"}
    options |= {"size": load.get("size", "16g")}
    options |= {"rwmixread": round(100 * share)} if kind == "rw" else {}
    lines = [f"{name}={value}" for name, value in options.items()]
    return "\n".join(["[x]", *lines, ""])


def _result(run_id, index, step, values, times):
    load, mean = step["load"], float(values.mean())
    share = load.get("read_share", 1.0)
    rows = [
        Measurement(
            run_id=run_id, step_index=index, step=step["name"], role="measure", scope="step",
            job="all", job_index=-1, direction=direction, block_bytes=load["block_bytes"],
            rw=("rand" if load.get("random", True) else "") + direction,
            iodepth=load.get("depth", 32), ios=round(mean * part * values.size),
            bytes=round(mean * part * values.size) * load["block_bytes"],
            runtime_ns=values.size * NS_PER_S, iops=mean * part,
            bytes_per_s=mean * part * load["block_bytes"],
            **{f"{name}_ns": value * 1e3 for name, value in step.get("latency_us", {}).items()},
        )
        for direction, part in (("read", share), ("write", 1 - share))
        if part
    ]  # fmt: skip
    return StepResult(
        step_index=index, step=step["name"], role="measure",
        started_at=times[0].isoformat(), finished_at=times[1].isoformat(),
        fio_exit=0, fio_version="fio-3.33", measurements=tuple(rows),
    )  # fmt: skip


def _run(run_id, number, at, trial):
    known: dict[str, Any] = {
        "run_id": run_id, "trial_id": "trial", "campaign_id": "trial", "run_index": number,
        "replicate": 1, "state": "done", "created_at": at.isoformat(), "profile": "made",
        "parameters": {}, "labels": {}, "provider": "fio", "started_at": at.isoformat(),
        "measured_at": at.isoformat(), "emulated": False, "unverified": False, "imported": True,
        "memory_bytes": trial["memory_gib"] * GIB if "memory_gib" in trial else None,
        "format": 1, "parser_version": 1,
    }  # fmt: skip
    return Run(**cast("dict[str, Any]", {**_NO_RUN, **known}))
