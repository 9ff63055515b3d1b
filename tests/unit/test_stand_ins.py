"""A library is imported without what it does not need here, and no other module notices."""

from __future__ import annotations

import builtins
import importlib
import sys
import threading
from pathlib import Path

import pytest

from diskbench.stand_ins import LaterName, answering, later

LIBRARY = {
    "lib_x/__init__.py": "from lib_x import inner\n",
    "lib_x/inner.py": """
import builtins
from heavy_x import Thing, made
from . import extra_x, light
try:
    import absent_x
except ImportError as error:
    absent_x = error.name
getattr(builtins, "ask_x", str)()
import heavy_x

def later_on():
    import heavy_x
    return heavy_x
""",
    "lib_x/light.py": "HERE = True\n",
    "lib_x/extra_x.py": "REAL = True\n",
    "heavy_x.py": "REAL = True\nclass Thing: pass\ndef made(*, n): return n + 1\n",
    "absent_x.py": "",
}
NAMES = ("lib_x", "lib_x.inner", "lib_x.light", "lib_x.extra_x", "heavy_x", "absent_x")


@pytest.fixture(autouse=True)
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in LIBRARY.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    for name in NAMES:
        # Set and deleted, so that the module of this test is forgotten at its end.
        monkeypatch.setitem(sys.modules, name, sys)
        del sys.modules[name]


class Stand:
    """Stands for a class."""


def stand_ins() -> dict[str, object]:
    return {
        "heavy_x": later("heavy_x", Thing=Stand, made=LaterName("heavy_x", "made")),
        "lib_x.extra_x": later("lib_x.extra_x"),
        "absent_x": None,
    }


def bare() -> object:
    with answering(("lib_x",), stand_ins()):  # type: ignore[arg-type]
        return importlib.import_module("lib_x.inner")


def test_each_kind_of_import_gets_the_stand_in_and_imports_nothing_real() -> None:
    inner = bare()
    assert [name for name in ("heavy_x", "lib_x.extra_x", "absent_x") if name in sys.modules] == []
    assert inner.Thing is Stand
    assert inner.absent_x == "absent_x"
    assert inner.light.HERE


def test_a_stand_in_becomes_the_real_one_when_it_is_used() -> None:
    inner = bare()
    assert inner.heavy_x.REAL
    assert inner.made(n=1) == 2
    assert inner.extra_x.REAL
    assert sys.modules["heavy_x"].REAL


def test_what_the_library_imports_after_the_block_is_real() -> None:
    assert bare().later_on() is sys.modules["heavy_x"]


def test_what_was_imported_before_is_not_stood_in_for() -> None:
    heavy = importlib.import_module("heavy_x")
    inner = bare()
    assert inner.heavy_x is heavy
    assert inner.Thing is heavy.Thing


def test_another_thread_gets_the_real_module_at_any_moment_of_the_import(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[object] = []

    def ask() -> None:
        seen.append((importlib.import_module("heavy_x"), importlib.import_module("absent_x")))

    def in_thread() -> None:
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()

    monkeypatch.setattr(builtins, "ask_x", in_thread, raising=False)
    inner = bare()
    assert seen == [(sys.modules["heavy_x"], sys.modules["absent_x"])]
    assert inner.Thing is Stand  # imported by the library before the thread imported it
    assert inner.heavy_x is sys.modules["heavy_x"]
