"""Errors decide by what they carry as data, never by their text: held over the source itself."""

import ast
import importlib
import json
import pkgutil
import re
from pathlib import Path
from string import Formatter

import pytest
import yaml

import diskbench
from diskbench import errors
from diskbench.errors import DiskbenchError
from diskbench.model.campaign import CellRow, error_columns
from diskbench.model.outcome import Outcome, problem_of
from diskbench.plan.matrix_form import cell_model
from diskbench.units import field_of

ROOT = Path(diskbench.__file__).parent
_SAID = "said"
"""What a cloud or its SDK says, as every `providers/*/errors.py` calls it."""
_NOT_SAID_TWICE = ("providers/gcp/errors.py", "reason not in said")


@pytest.mark.parametrize("path", sorted((ROOT / "providers").glob("*/errors.py")))
def test_a_cloud_s_error_is_classified_by_its_code_and_not_by_what_it_says(path):
    found = [
        ast.unparse(one)
        for one in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(one, ast.Compare)
        and any(isinstance(name, ast.Name) and name.id == _SAID for name in ast.walk(one))
    ]
    name = str(path.relative_to(ROOT))
    assert [one for one in found if (name, one) != _NOT_SAID_TWICE] == []


def all_errors():
    for one in pkgutil.walk_packages(diskbench.__path__, "diskbench."):
        if "__main__" not in one.name:
            importlib.import_module(one.name)

    def below(kind):
        yield kind
        for one in kind.__subclasses__():
            yield from below(one)

    return {one for one in below(DiskbenchError) if one.__module__.startswith("diskbench.")}


@pytest.mark.slow
def test_all_errors_are_in_one_file():
    assert {one.__module__ for one in all_errors()} == {"diskbench.errors"}


def raised():
    own: dict[str, DiskbenchError] = {
        "UnknownName": errors.UnknownName("disk type", "gp9", ["gp2"], field="disk"),
        "StepsMissing": errors.StepsMissing("01a", "file:///e", [("read", "no files")]),
    }
    kinds = [one for one in vars(errors).values() if isinstance(one, type)]
    return [
        own.get(kind.__name__) or kind("what was wrong")
        for kind in kinds
        if issubclass(kind, DiskbenchError)
    ]


@pytest.mark.parametrize("error", raised(), ids=lambda one: type(one).__name__)
def test_an_error_keeps_what_is_decided_by_it_wherever_it_goes(error):
    problem = problem_of(error)
    carried = (problem.retryable, problem.passing, problem.field, problem.exit_code)
    assert carried == (error.retryable, error.passing, error.field, error.exit_code)
    assert (problem.message, problem.advice) == (error.message, error.advice)
    through_dbos = json.loads(json.dumps(Outcome(state="failed", problem=problem).model_dump()))
    assert Outcome.model_validate(through_dbos).problem == problem
    row = json.loads(json.dumps(error_columns(problem)))
    assert CellRow.problem.fget is not None
    assert CellRow.model_construct(**row).problem == problem


_FLAG = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")
_CHECKED = ("catalog", "plan", "providers", "fio")
"""Rooms whose errors are told at a line of a matrix."""


def about_flags(tree):
    """Errors of a value whose text begins with the flag of a cell's field, without that field."""
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or not call.args:
            continue
        if call.func.id not in {"InvalidValue", "TargetRefused"}:
            continue
        text = call.args[0]
        first = text.values[0] if isinstance(text, ast.JoinedStr) and text.values else text
        said = first.value if isinstance(first, ast.Constant) else None
        flag = _FLAG.match(said) if isinstance(said, str) else None
        is_field = flag is not None and field_of(flag[0]) in cell_model().model_fields
        if is_field and not any(one.arg == "field" for one in call.keywords):
            yield call.lineno, ast.unparse(text)


def refusals():
    """Each rule of the providers' tables of refusals: its file, name and row."""
    for file in sorted((ROOT / "providers").rglob("refusals.yaml")):
        for name, row in yaml.safe_load(file.read_text()).items():
            yield file, name, row


def test_each_refusal_is_made_and_with_the_values_that_its_words_name():
    made: dict[tuple[Path, str], set[str]] = {}
    for path in sorted((ROOT / "providers").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for call in ast.walk(ast.parse(text)) if "refused(" in text else ():
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "refused":
                own = path.with_name("refusals.yaml")
                file = own if own.exists() else ROOT / "providers/refusals.yaml"
                name = ast.literal_eval(call.args[0])
                made[file, name] = {str(one.arg) for one in call.keywords}
    needed = {}
    for file, name, row in refusals():
        fields = Formatter().parse(row["message"] + row.get("advice", ""))
        needed[file, name] = {re.split(r"[.\[]", field)[0] for _, field, _, _ in fields if field}
    assert made == needed


def test_a_refusal_that_names_the_flag_of_a_field_carries_the_field():
    known = set(cell_model().model_fields)
    for file, name, row in refusals():
        flag = _FLAG.match(row["message"])
        is_typed = flag is not None and field_of(flag[0]) in known
        is_about = row.get("kind", "InvalidValue") in {"InvalidValue", "TargetRefused"}
        assert not (is_typed and is_about) or "field" in row, (file, name)
        assert row.get("field") in {None, *known}, (file, name)


@pytest.mark.parametrize("room", _CHECKED)
def test_an_error_that_names_the_flag_of_a_field_carries_the_field(room):
    for path in sorted((ROOT / room).rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if "InvalidValue(" in text or "TargetRefused(" in text:
            assert list(about_flags(ast.parse(text))) == [], path.name


@pytest.mark.slow
def test_every_field_that_an_error_carries_is_one_of_a_cell():
    known = set(cell_model().model_fields)
    for path in sorted(ROOT.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for call in ast.walk(ast.parse(text)) if "field=" in text else ():
            if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
                continue
            if not hasattr(errors, call.func.id):
                continue
            for one in call.keywords:
                if one.arg == "field" and isinstance(one.value, ast.Constant):
                    assert one.value.value in known, f"{path.name}:{call.lineno}"
