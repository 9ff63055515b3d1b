"""What only reads results runs nothing: the modules of the room results/ import none that do."""

import ast
from pathlib import Path

import pytest

import diskbench

ENGINE = Path(diskbench.__file__).parent / "engine"
READING = frozenset(
    {
        "canaries", "compare_draft", "compare_runs", "dependence", "history", "levelled", "levels",
        "measurement_frame", "pool", "promised", "publish", "replicate_set", "replicated",
        "selection", "step_counts", "step_evidence", "step_groups", "step_setting",
        "step_verdicts", "trial_figures", "until", "verdict_frame", "verdicts",
    }
)  # fmt: skip
SHARED = frozenset({"refreshed", "several"})
"""The catalogue of a session, and doing one thing to many at once: neither runs a trial."""


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
        elif isinstance(node, ast.Import):
            found |= {one.name for one in node.names}
    return found


@pytest.mark.parametrize("name", sorted(READING))
def test_a_module_that_reads_results_imports_none_that_runs(name):
    path = ENGINE / f"{name}.py"
    if not path.exists():
        pytest.skip("it has moved into the room results/, whose import contract says the same")
    of_engine = {
        one.removeprefix("diskbench.engine.")
        for one in imports(path)
        if one.startswith("diskbench.engine.")
    }
    assert of_engine <= READING | SHARED
    assert not {one for one in imports(path) if one.startswith(("diskbench.providers", "dbos"))}
