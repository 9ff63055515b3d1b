"""`diskbench schema`: the JSON schemas of what `--output json` prints."""

import importlib
import json
from typing import Annotated, Any

from diskbench.cli.terminal import argument
from diskbench.errors import check_known
from diskbench.store.document import model_schema, results_schema

MODELS = {
    "advise": ("diskbench.plan.advise", "Answer"),
    "compare": ("diskbench.model.comparison", "Comparison"),
    "compare-published": ("diskbench.report.published.beside", "ComparePublishedDocument"),
    "doctor": ("diskbench.model.finding", "DoctorDocument"),
    "gc": ("diskbench.model.outcome", "SweepDocument"),
    "matrix-plan": ("diskbench.plan.outlook", "MatrixOutlook"),
    "plan": ("diskbench.plan.cost", "PlanDocument"),
    "published": ("diskbench.catalog.published", "PublishedDocument"),
    "regressions": ("diskbench.model.history", "Regressions"),
    "replicates": ("diskbench.model.campaign", "Replicates"),
    "schedules": ("diskbench.model.schedule", "ScheduleDocument"),
    "status": ("diskbench.model.campaign", "FleetDocument"),
}
"""Document → the model that it is made of."""
DOCUMENTS = ("results", *MODELS)


def schema(
    document: Annotated[str, argument("DOCUMENT", f"Which document: {', '.join(DOCUMENTS)}.")],
) -> None:
    """Print the JSON schema of a document."""
    check_known("document", document, DOCUMENTS)
    print(json.dumps(_schema(document), indent=2))


def _schema(document: str) -> dict[str, Any]:
    if document == "results":
        return results_schema()
    module, name = MODELS[document]
    return model_schema(getattr(importlib.import_module(module), name), document)
