"""Importing a library without what it imports for features that are not used here.

Inside `answering` the import statements of the library's own modules get stand-ins for the modules
that are left out. `sys.modules` is not touched, so a thread that imports one of them meanwhile gets
the real one: a module finds `__import__` in its own `__builtins__`, which only the library's
modules are given (https://docs.python.org/3/reference/executionmodel.html#builtins-and-restricted-execution).
"""

from __future__ import annotations

import builtins
import sys
from contextlib import contextmanager
from importlib import import_module
from importlib.machinery import PathFinder, SourceFileLoader
from importlib.util import resolve_name
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from importlib.machinery import ModuleSpec

    StandIns = Mapping[str, ModuleType | None]


class Later(ModuleType):
    """A module that is imported when an attribute is first read."""

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the module holds
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(import_module(self.__name__), name)


class LaterName:
    """A function or class of a module that is imported when it is first called or read."""

    def __init__(self, module: str, name: str) -> None:
        self._place = module, name

    def __call__(self, *args: Any, **named: Any) -> Any:  # noqa: ANN401 - as the real one
        """What the real one returns."""
        return self._real()(*args, **named)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever it holds
        return getattr(self._real(), name)

    def _real(self) -> Any:  # noqa: ANN401 - a function or a class
        module, name = self._place
        return getattr(import_module(module), name)


def later(module: str, **names: object) -> Later:
    """A module that is imported when an attribute other than `names` is first read."""
    made = Later(module)
    made.__dict__.update(names)
    return made


@contextmanager
def answering(packages: Sequence[str], stand_ins: StandIns) -> Iterator[None]:
    """Inside the block, modules of `packages` that are imported for the first time get `stand_ins`
    by the names of the modules that are left out; None means that there is no such module.

    What was imported before stays as it is, and is never stood in for.
    """
    finder = _Finder(tuple(packages), stand_ins)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        finder.is_over = True
        sys.meta_path.remove(finder)


class _Finder:
    """Finds modules of some packages, and has them executed with an `__import__` of their own."""

    def __init__(self, packages: tuple[str, ...], stand_ins: StandIns) -> None:
        self._packages, self._stand_ins = packages, stand_ins
        self.is_over = False
        self._builtins = {**vars(builtins), "__import__": self._import}

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """See importlib.abc.MetaPathFinder."""
        if not any(name == package or name.startswith(f"{package}.") for package in self._packages):
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and type(spec.loader) is SourceFileLoader:
            spec.loader = _Loader(spec.loader.name, spec.loader.path, self._builtins)
        return spec

    def _import(
        self,
        name: str,
        globals: Mapping[str, Any] | None = None,  # noqa: A002 - as in the real one
        locals: Mapping[str, Any] | None = None,  # noqa: A002
        fromlist: Sequence[str] = (),
        level: int = 0,
    ) -> Any:  # noqa: ANN401 - a module, or what stands for one
        """See builtins.__import__. Functions of the packages keep it after the block."""
        if self.is_over:
            return builtins.__import__(name, globals, locals, fromlist, level)
        full = name if not level else resolve_name("." * level + name, _package(globals or {}))
        if self._is_left_out(full) and (fromlist or "." not in full):
            if (stand_in := self._stand_ins[full]) is None:
                raise ModuleNotFoundError(f"No module named {full!r}", name=full)
            return stand_in
        submodules = {
            submodule: self._stand_ins[f"{full}.{submodule}"]
            for submodule in fromlist or ()
            if self._is_left_out(f"{full}.{submodule}")
        }
        if not submodules:
            return builtins.__import__(name, globals, locals, fromlist, level)
        own_names = [attribute for attribute in fromlist if attribute not in submodules]
        module = import_module(full)
        if own_names:
            builtins.__import__(name, globals, locals, own_names, level)
        return SimpleNamespace(
            **{attribute: getattr(module, attribute) for attribute in own_names}, **submodules
        )

    def _is_left_out(self, module: str) -> bool:
        return module in self._stand_ins and module not in sys.modules


class _Loader(SourceFileLoader):
    """Executes a module with builtins of its own."""

    def __init__(self, name: str, path: str, own_builtins: dict[str, Any]) -> None:
        super().__init__(name, path)
        self._own_builtins = own_builtins

    def exec_module(self, module: ModuleType) -> None:
        """See importlib.abc.Loader."""
        module.__dict__["__builtins__"] = self._own_builtins
        super().exec_module(module)


def _package(importer: Mapping[str, Any]) -> str:
    """The package that a relative import of a module begins at."""
    spec = importer.get("__spec__")
    return str(importer.get("__package__") or (spec.parent if spec is not None else ""))
