"""A doubt is a row of one table: whatever a check finds is in it, documented and shown."""

import ast
import html
import io
import re
from pathlib import Path

import pytest
from rich.console import Console
from tests.unit.report.made import row
from tests.unit.report.reported import judged, report, trial, verdict

import diskbench
from diskbench.model.doubts import DOUBTS, WEIGHTS
from diskbench.report.page.markdown import markdown
from diskbench.report.page.page import page
from diskbench.report.terminal.result_text import result

SOURCE = Path(diskbench.__file__).parent
DOCS = Path(__file__).parents[3] / "docs"
STEP = "rand-read-4k-qd32"
MADE_ANEW = {
    "model/doubts.py": "the table itself",
    "analysis/trust.py": "a stored warning with the weight that the verdict gives it",
    "analysis/shown.py": "a reason of a verdict, listed with the warnings",
    "store/step_rows.py": "a warning as its row holds it",
}
"""The only files that may write a code themselves: they copy one."""


def constructors(path: Path) -> list[str]:
    """The calls of Warning(...) and Reason(...) in a file."""
    text = path.read_text()
    if "Warning(" not in text and "Reason(" not in text:
        return []  # reading every syntax tree of the source takes seconds
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    return [
        f"{path.relative_to(SOURCE)}:{call.lineno}"
        for call in calls
        if isinstance(call.func, ast.Name) and call.func.id in ("Warning", "Reason")
    ]


def test_every_doubt_is_raised_through_the_table():
    paths = sorted(set(SOURCE.rglob("*.py")) - {SOURCE / name for name in MADE_ANEW})
    found = [place for path in paths for place in constructors(path)]
    assert found == [], "raise it as NAME.warning(…) or NAME.reason(…) of model/doubts.py"


def test_every_row_is_complete_and_no_code_stands_twice():
    for code, doubt in DOUBTS.items():
        assert doubt.weight in WEIGHTS, code
        assert doubt.words, code
        assert bool(doubt.profile) == bool(doubt.because), code
        assert doubt.advice or doubt.weight == "note" or code == "other-disk", code
    rows = re.findall(r"= Doubt\(\s*\"([a-z-]+)\"", (SOURCE / "model" / "doubts.py").read_text())
    assert sorted(rows) == sorted(DOUBTS)


def test_every_doubt_is_documented_with_its_weight_and_words_and_no_other():
    rows = re.findall(r"^\| `([a-z-]+)` \| ([\w ]+) \| (.+?) \|", _page(), re.MULTILINE)
    assert {(one.code, one.weight, one.words) for one in DOUBTS.values()} <= set(rows)
    method = (DOCS / "METHOD.md").read_text()
    assert [code for code in DOUBTS if f"`{code}`" not in method] == [], "when are they raised?"
    assert set(re.findall(r"^\| `([a-z-]+)` \|", _page(), re.MULTILINE)) == set(DOUBTS)


def _page() -> str:
    return (DOCS / "reading.md").read_text().partition("## All doubts")[2].partition("\n## ")[0]


@pytest.mark.parametrize("surface", ["terminal", "markdown", "page"])
@pytest.mark.parametrize("doubt", DOUBTS.values(), ids=lambda one: one.code)
def test_every_doubt_is_shown_on_every_surface(doubt, surface):
    warnings, reasons = (), ()
    if doubt.shown == "warnings":
        warnings = (doubt.warning("figure 4711 shows it", step=STEP),)
    else:
        reasons = (doubt.reason("figure 4711 shows it"),)
    trust = {"note": "yes"}.get(doubt.weight, doubt.weight)
    told = (verdict(judged(3000.0), trust=trust, reasons=reasons),)
    text = _shown(surface, warnings, told)
    assert "figure 4711 shows it" in text.lower()
    assert " ".join(doubt.advice.lower().split()[:4]) in text.lower()
    if reasons and doubt.weight != "note" and surface != "terminal":
        assert doubt.words in text


def _shown(surface, warnings, verdicts) -> str:
    if surface == "terminal":
        out = io.StringIO()
        view = trial([row(STEP)], warnings=warnings, verdicts=verdicts)
        Console(file=out, width=100).print(result(view))
        return " ".join(out.getvalue().split())
    made = report(trial([row(STEP)], warnings=warnings, verdicts=verdicts))
    text = {"markdown": markdown, "page": page}[surface](made)
    return " ".join(html.unescape(re.sub(r"\\(.)", r"\1", text)).split())
