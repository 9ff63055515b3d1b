"""Errors decide by what they carry as data, never by their text: held over the source itself."""

from __future__ import annotations

import ast
import importlib
import json
import pkgutil
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

import diskbench
from diskbench import errors
from diskbench.errors import DiskbenchError
from diskbench.model.campaign import CellRow, error_columns
from diskbench.model.outcome import Outcome, Problem, problem_of
from diskbench.plan.matrix_form import cell_model
from diskbench.plan.rent_options import field_of

ROOT = Path(diskbench.__file__).parent
SHOWN_ONLY = {
    # A part of a text is shown; what happens is the same whatever it says.
    "cli/messages.py": "an error is printed line by line",
    "engine/trial/stop.py": "the first line of a text is shown",
    "store/evidence.py": "the first line of a text is shown",
    "store/database_errors.py": "the first line of a text is shown",
    "store/log_scan.py": "the first line of a text is shown",
    "store/import_sources.py": "a file's name is not shown twice",
    "providers/azure/errors.py": "what Azure says is shown in one line",
}
_CUTS = frozenset(
    {"partition", "rpartition", "split", "splitlines", "removeprefix", "removesuffix"}
)
_ASKS = frozenset({"startswith", "endswith", "find", "rfind", "index", "count"})
_SEARCHES = frozenset({"search", "match", "fullmatch", "findall", "finditer"})
_TEXTS = frozenset({"message", "advice", "args", "msg", "strerror"})
_SAID = "said"
"""What a cloud or its SDK says, as every `providers/*/errors.py` calls it."""
_NOT_SAID_TWICE = ("providers/gcp/errors.py", "reason not in said")
_REWORDED = ("providers/azure/errors.py", ("asked", "_TRIED.finditer(text)"))
"""Of the credentials that the SDK tried, those that are absent are not shown; no more follows."""
_NAMED = re.compile(r"^(error|err|exc|fault|failure|raised|problem)$")


class Texts:
    """Which expressions of a module are the text, or the class name, of an error."""

    def __init__(self, tree: ast.Module) -> None:
        self.functions = {
            one.name: one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef)
        }
        self.nodes = {name: tuple(ast.walk(one)) for name, one in self.functions.items()}
        """By function, what stands in it: walked once, asked for often."""
        self.given: dict[str, set[str]] = {name: set() for name in self.functions}
        """By function, its parameters that some call of this module gives such a text."""
        self._raised = {name: _raised_in(nodes) for name, nodes in self.nodes.items()}
        while any(self._hand_on(name) for name in self.functions):
            pass

    def of(self, function: ast.FunctionDef) -> tuple[set[str], set[str]]:
        """The names of a function that are errors, and those that are the text of one."""
        raised = self._raised[function.name]
        texts = set(self.given[function.name])
        assigned = [one for one in self.nodes[function.name] if isinstance(one, ast.Assign)]
        while True:
            before = len(texts)
            for one in assigned:
                if is_text(one.value, raised, texts):
                    texts |= {
                        name.id
                        for target in one.targets
                        for name in ast.walk(target)
                        if isinstance(name, ast.Name) and name.id not in raised
                    }
            if len(texts) == before:
                return raised, texts

    def _hand_on(self, name: str) -> bool:
        """Follow what a function gives to others of its module; whether that was anything new."""
        raised, texts = self.of(self.functions[name])
        new = False
        for call in self.nodes[name]:
            if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
                continue
            called = self.functions.get(call.func.id)
            if called is None:
                continue
            parameters = [one.arg for one in (*called.args.posonlyargs, *called.args.args)]
            for parameter, given in zip(parameters, call.args, strict=False):
                if is_text(given, raised, texts) and parameter not in self.given[called.name]:
                    self.given[called.name].add(parameter)
                    new = True
        return new


def _raised_in(nodes: Iterable[ast.AST]) -> set[str]:
    """The names of a function that are errors."""
    arguments = {one.arg for one in nodes if isinstance(one, ast.arg) and _is_error_argument(one)}
    handlers = {one.name for one in nodes if isinstance(one, ast.ExceptHandler) and one.name}
    return arguments | handlers


def _is_error_argument(node: ast.arg) -> bool:
    kind = ast.unparse(node.annotation) if node.annotation else ""
    return bool(_NAMED.match(node.arg)) or bool(re.search(r"Error|Exception|Problem\b", kind))


def is_text(node: ast.expr, raised: set[str], texts: set[str]) -> bool:
    """Whether an expression is made of the text or the class name of an error, and of no code."""
    if isinstance(node, ast.Name):
        return node.id in texts
    if isinstance(node, ast.Attribute):
        if node.attr == "__name__":
            return any(
                isinstance(one, ast.Name) and one.id in raised for one in ast.walk(node.value)
            )
        return node.attr in _TEXTS and _is_raised(node.value, raised)
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Name) and node.func.id in {"str", "repr"}:
            return any(_is_raised(one, raised) or is_text(one, raised, texts) for one in node.args)
        if isinstance(node.func, ast.Attribute) and node.func.attr in {
            "lower", "upper", "strip", "casefold", "replace", *_CUTS,
        }:  # fmt: skip
            return is_text(node.func.value, raised, texts)
        return False
    if isinstance(node, ast.JoinedStr):
        return any(
            isinstance(one, ast.FormattedValue)
            and (_is_raised(one.value, raised) or is_text(one.value, raised, texts))
            for one in node.values
        )
    if isinstance(node, ast.BoolOp):
        return any(is_text(one, raised, texts) for one in node.values)
    if isinstance(node, ast.IfExp):
        return is_text(node.body, raised, texts) or is_text(node.orelse, raised, texts)
    if isinstance(node, ast.Subscript):
        return is_text(node.value, raised, texts)
    return False


def _is_raised(node: ast.expr, raised: set[str]) -> bool:
    """`error`, `error.orig`, `self.error`, `error.__cause__`."""
    if isinstance(node, ast.Name):
        return node.id in raised or bool(_NAMED.match(node.id))
    if isinstance(node, ast.Attribute):
        return bool(_NAMED.match(node.attr)) or _is_raised(node.value, raised)
    return False


def decisions(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Each place of a module where the text of an error is asked or cut: how, and the source."""
    known = Texts(tree)
    for function in known.functions.values():
        raised, texts = known.of(function)

        def told(node: ast.expr, raised: set[str] = raised, texts: set[str] = texts) -> bool:
            return is_text(node, raised, texts)

        for node in known.nodes[function.name]:
            if isinstance(node, ast.Compare):
                # `error.message is None` and emptiness say nothing of what it says.
                asked = any(
                    isinstance(one, ast.In | ast.NotIn | ast.Eq | ast.NotEq) for one in node.ops
                )
                if (asked and any(map(told, (node.left, *node.comparators)))) or (
                    asked and _is_kind(node.left, raised)
                ):
                    yield "asked", ast.unparse(node)
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                name = node.func.attr
                if name in _ASKS and told(node.func.value):
                    yield "asked", ast.unparse(node)
                elif name in _CUTS and told(node.func.value):
                    yield "cut", ast.unparse(node)
                elif name in _SEARCHES and any(map(told, node.args)):
                    yield "asked", ast.unparse(node)
            elif isinstance(node, ast.Match) and told(node.subject):
                yield "asked", ast.unparse(node.subject)


def _is_kind(node: ast.expr, raised: set[str]) -> bool:
    """`problem.kind`: the class name of an error that was stored. (Faults of fakes have kinds.)"""
    if not isinstance(node, ast.Attribute) or node.attr not in {"kind", "error_kind"}:
        return False
    return _is_raised(node.value, raised - {"fault"}) and ast.unparse(node.value) != "fault"


def sources() -> list[Path]:
    return sorted(one for one in ROOT.rglob("*.py") if "migrations" not in one.parts)


@pytest.mark.slow
def test_nothing_is_decided_by_the_text_of_an_error() -> None:
    found: dict[str, list[tuple[str, str]]] = {}
    for path in sources():
        name = str(path.relative_to(ROOT))
        allowed = {"cut"} if name in SHOWN_ONLY else set()
        decided = decisions(ast.parse(path.read_text(encoding="utf-8")))
        faults = [one for one in decided if one[0] not in allowed and (name, one) != _REWORDED]
        if faults:
            found[name] = faults
    assert found == {}


@pytest.mark.parametrize(
    "text",
    [
        "def f():\n    try: g()\n    except E as error:\n        if 'x' in str(error): h()\n",
        "def f(error):\n    return error.message.startswith('x')\n",
        "def f(error):\n    text = str(error).lower()\n    return 'full' in text\n",
        "def a(cause):\n    return 'full' in cause\ndef f(error):\n    return a(str(error.orig))\n",
        "def f(problem):\n    return problem.kind in AGAIN\n",
        "def f(problem: Problem):\n    return problem.kind == 'Interrupted'\n",
        "def f(error):\n    return _FLAG.findall(error.message)\n",
        "def f(error):\n    return error.advice.removesuffix('diskbench resume')\n",
        "def f(error):\n    return type(error).__name__ in AGAIN\n",
        "def f(error):\n    name = type(error).__name__\n    return name == 'Busy'\n",
    ],
)
def test_the_scan_finds_a_decision_by_text(text: str) -> None:
    assert list(decisions(ast.parse(text)))


@pytest.mark.parametrize(
    "text",
    [
        "def f(error):\n    return isinstance(error, E) and error.code in CODES\n",
        "def f(error):\n    raise E(error.message, advice=error.advice or str(error))\n",
        "def f(problem):\n    return problem.retryable or problem.field == 'size'\n",
    ],
)
def test_the_scan_lets_data_and_words_that_are_shown_through(text: str) -> None:
    assert list(decisions(ast.parse(text))) == []


@pytest.mark.parametrize("path", sorted((ROOT / "providers").glob("*/errors.py")))
def test_a_cloud_s_error_is_classified_by_its_code_and_not_by_what_it_says(path: Path) -> None:
    found = [
        ast.unparse(one)
        for one in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(one, ast.Compare)
        and any(isinstance(name, ast.Name) and name.id == _SAID for name in ast.walk(one))
    ]
    name = str(path.relative_to(ROOT))
    assert [one for one in found if (name, one) != _NOT_SAID_TWICE] == []


# The tree of errors


def all_errors() -> set[type[DiskbenchError]]:
    """Every class of the tree, wherever it is defined: all modules are imported for it."""
    for one in pkgutil.walk_packages(diskbench.__path__, "diskbench."):
        if "__main__" not in one.name and "migrations" not in one.name:
            importlib.import_module(one.name)

    def below(kind: type[DiskbenchError]) -> Iterator[type[DiskbenchError]]:
        yield kind
        for one in kind.__subclasses__():
            yield from below(one)

    return {one for one in below(DiskbenchError) if one.__module__.startswith("diskbench.")}


@pytest.mark.slow
def test_the_tree_of_errors_is_whole_and_in_one_file() -> None:
    drawn: dict[str, str] = {}
    above: list[tuple[int, str]] = []
    assert errors.__doc__ is not None
    for line in errors.__doc__.splitlines():
        found = re.match(r"( *)[*-] (\w+)", line)
        if found:
            depth = len(found[1])
            above = [one for one in above if one[0] < depth]
            drawn[found[2]] = above[-1][1] if above else "Exception"
            above.append((depth, found[2]))
    there = {one.__name__: one.__bases__[0].__name__ for one in all_errors()}
    assert {one.__module__ for one in all_errors()} == {"diskbench.errors"}
    assert drawn == there


# What crosses a checkpoint, a process or the database


def raised() -> list[DiskbenchError]:
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
def test_an_error_keeps_what_is_decided_by_it_wherever_it_goes(error: DiskbenchError) -> None:
    problem = problem_of(error)
    carried = (problem.retryable, problem.passing, problem.field, problem.exit_code)
    assert carried == (error.retryable, error.passing, error.field, error.exit_code)
    assert (problem.message, problem.advice) == (error.message, error.advice)
    through_dbos = json.loads(json.dumps(Outcome(state="failed", problem=problem).model_dump()))
    assert Outcome.model_validate(through_dbos).problem == problem
    row = json.loads(json.dumps(error_columns(problem)))
    assert CellRow.problem.fget is not None
    assert CellRow.model_construct(**row).problem == problem


def test_a_problem_that_was_kept_by_an_earlier_diskbench_is_read() -> None:
    old = Problem.model_validate({"kind": "NoCapacity", "message": "none", "advice": ""})
    assert (old.retryable, old.is_stop) == (False, False)


# Errors of a cell's fields

_FLAG = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")
_CHECKED = ("catalog", "plan", "providers", "fio")
"""Rooms whose errors are told at a line of a matrix."""


def about_flags(tree: ast.Module) -> Iterator[tuple[int, str]]:
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


@pytest.mark.parametrize("room", _CHECKED)
def test_an_error_that_names_the_flag_of_a_field_carries_the_field(room: str) -> None:
    for path in sorted((ROOT / room).rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if "InvalidValue(" in text or "TargetRefused(" in text:
            assert list(about_flags(ast.parse(text))) == [], path.name


@pytest.mark.slow
def test_every_field_that_an_error_carries_is_one_of_a_cell() -> None:
    known = set(cell_model().model_fields)
    for path in sources():
        text = path.read_text(encoding="utf-8")
        for call in ast.walk(ast.parse(text)) if "field=" in text else ():
            if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
                continue
            if not hasattr(errors, call.func.id):
                continue
            for one in call.keywords:
                if one.arg == "field" and isinstance(one.value, ast.Constant):
                    assert one.value.value in known, f"{path.name}:{call.lineno}"
