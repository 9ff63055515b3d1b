"""The JSON document of results: what `--output json` prints, and the schema it is held to.

    {"format": 1, "runs": [{…a run…, "steps": [{…, "measurements": […], "warnings": […]}]}]}

Within a format number fields are only ever added. `steps`, `phases` (an entry a step of a minute or
more), `verdicts` (one a measured step) and `audits` (one a step: whether its figures agree) are
there where a command shows them, and `costs`, one for each trial that rented something. Names end
in their unit: `_bytes`, `_bytes_per_s`, `_ns`, `_s`, `_usd`; times are ISO 8601 in UTC.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, get_args

from pydantic import BaseModel

from diskbench.analysis.row_figures import Courses, changed, courses_by_step, row_figures
from diskbench.catalog.cost import TrialCost
from diskbench.model.phase import PhaseKind, StepPhases
from diskbench.model.result import RunState, StepAudit, StepResult
from diskbench.model.run import AFTER_CLIFF, Run, run_columns
from diskbench.model.verdict import Verdict
from diskbench.store import schema

FORMAT = 1
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean", object: "object"}


def results_document(
    runs: Sequence[Run],
    steps: Mapping[str, Sequence[StepResult]] | None = None,
    costs: Sequence[TrialCost] | None = None,
    phases: Sequence[StepPhases] | None = None,
    verdicts: Sequence[Verdict] | None = None,
    audits: Sequence[StepAudit] | None = None,
    courses: Iterable[StepPhases] = (),
) -> dict[str, Any]:
    """The document of `runs`, with the given `steps` (by run id), `costs` of trials, `phases`,
    `verdicts` and `audits`. Where `phases` or `courses` (which are not printed) give a step several
    levels, its figures are those of one level."""
    known = courses_by_step([*(phases or ()), *courses])
    more: dict[str, Sequence[StepPhases | Verdict | StepAudit] | None]
    more = {"phases": phases, "verdicts": verdicts, "audits": audits}
    rows: list[dict[str, Any]] = []
    for run in runs:
        row = run_columns(run)
        if steps is not None:
            row["steps"] = _steps(steps[run.run_id], known)
        for name, models in more.items():
            if models is not None:
                of_run = (model for model in models if model.run_id == run.run_id)
                row[name] = [model.model_dump(mode="json") for model in of_run]
        rows.append(row)
    document: dict[str, Any] = {"format": FORMAT, "runs": rows}
    if costs is not None:
        document["costs"] = [cost.model_dump(mode="json") for cost in costs]
    return document


def _steps(results: Sequence[StepResult], courses: Courses) -> list[dict[str, Any]]:
    """The steps of a run. `after_cliff` of a row is the kind of level that its figures describe;
    None: they are fio's totals."""
    steps = [step.model_dump(mode="json") for step in results]
    rows = [row for step in steps for row in step["measurements"]]
    measured = [row for step in results for row in step.measurements]
    for row, figure in zip(rows, row_figures(measured, courses), strict=True):
        if figure is not None:
            row |= changed(row, figure)
        row[AFTER_CLIFF] = figure.kind if figure is not None else None
    return steps


def results_schema() -> dict[str, Any]:
    """The JSON schema of the document."""
    step = StepResult.model_json_schema(mode="serialization", ref_template="#/$defs/{model}")
    definitions = step.pop("$defs", {})
    kinds: list[str | None] = [*get_args(PhaseKind), None]
    definitions["Measurement"]["properties"][AFTER_CLIFF] = {"enum": kinds}
    models: tuple[type[BaseModel], ...] = (StepPhases, Verdict, StepAudit)
    for model in models:
        form = model.model_json_schema(mode="serialization", ref_template="#/$defs/{model}")
        definitions |= form.pop("$defs", {}) | {model.__name__: form}
    definitions["TrialCost"] = TrialCost.model_json_schema(mode="serialization")
    properties: dict[str, Any] = {}
    for column in schema.run.c:
        kind = _TYPES[column.type.python_type]
        properties[column.name] = {"type": [kind, "null"] if column.nullable else kind}
    required = list(properties)
    properties |= {
        "state": {"enum": [*get_args(RunState), "suspended"]},
        "steps": _array("StepResult"),
        "phases": _array("StepPhases"),
        "verdicts": _array("Verdict"),
        "audits": _array("StepAudit"),
    }
    run = {"type": "object", "properties": properties, "required": required}
    return {
        "$schema": _DIALECT,
        "title": "diskbench results",
        "description": (__doc__ or "").strip(),
        "type": "object",
        "properties": {
            "format": {"const": FORMAT},
            "runs": _array("Run"),
            "costs": _array("TrialCost"),
        },
        "required": ["format", "runs"],
        "$defs": {"Run": run, "StepResult": step} | _open(definitions),
    }


def model_schema(model: type[BaseModel], name: str) -> dict[str, Any]:
    """The JSON schema of a model, which allows fields that are added later."""
    model_document = model.model_json_schema(mode="serialization", ref_template="#/$defs/{model}")
    definitions = _open(model_document.pop("$defs", {}))
    (opened,) = _open({name: model_document}).values()
    return {"$schema": _DIALECT, **opened, "title": f"diskbench {name}", "$defs": definitions}


def _array(name: str) -> dict[str, Any]:
    return {"type": "array", "items": {"$ref": f"#/$defs/{name}"}}


def _open(definitions: dict[str, Any]) -> dict[str, Any]:
    """The definitions without `additionalProperties`, since a later diskbench may add fields."""
    return {
        name: {key: value for key, value in definition.items() if key != "additionalProperties"}
        for name, definition in definitions.items()
    }
