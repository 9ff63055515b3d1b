"""Vega-Lite documents as SVG, drawn in this process, or inside `drawn_apart` in another one.

vl-convert runs JavaScript (V8), which keeps 100 to 150 MB from the first drawing on (measured
2026-11-23). A command that draws many charts and also holds many runs therefore draws in a child
process, which ends when no more is to be drawn. The child runs this file alone: documents come as a
line of JSON each, drawings go back as a line of JSON each, and the end of its input ends it.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from importlib import import_module
from importlib.util import find_spec
from typing import Any

_DRAWING = "vl_convert"
_child: ContextVar[list[subprocess.Popen[str]] | None] = ContextVar("vega_child", default=None)
"""The child of this context, once it was needed; None where drawings are made in this process."""


Spec = dict[str, Any]
"""A Vega-Lite document, or a part of one."""
_ROUND = ("right", "left", "top", "bottom", "top-right", "bottom-right", "top-left", "bottom-left")
PLACES = {
    "placed-inside": ("[width, height]", _ROUND),
    "placed-beside": ("[1.25 * width, height]", _ROUND),
    "placed-below": ("[1.25 * width, height]", ("bottom-right", "right", "top-right", "bottom")),
}
"""Styles of texts that Vega places at their rows: the room that it has, and what it tries there."""


def compiled(document: Spec) -> Spec:
    """A Vega-Lite document as one of Vega, which places texts of these styles where they cover no
    other, or leaves them out. Vega-Lite has no word for that transform."""
    import vl_convert

    vega: Spec = vl_convert.vegalite_to_vega(document)
    for mark in _marks(vega):
        for style in PLACES.keys() & set(mark.get("style", ())):
            size, anchors = PLACES[style]
            label = {"type": "label", "anchor": anchors, "offset": [8], "size": {"signal": size}}
            mark["transform"] = [label]
    return vega


def _marks(group: Spec) -> Iterator[Spec]:
    for mark in group.get("marks", ()):
        yield mark
        yield from _marks(mark)


def vega_svg(document: Spec) -> str:
    """A Vega-Lite document as SVG. Raises ValueError for one that Vega cannot draw."""
    children = _child.get()
    if children is None:
        import vl_convert

        return str(vl_convert.vega_to_svg(compiled(document)))
    if not children:
        children.append(_started())
    return _asked(children[0], document)


@contextmanager
def drawn_apart() -> Iterator[None]:
    """Draw in a child process inside; it is started with the first drawing and has ended
    after. Inside another `drawn_apart` it is that one's child."""
    if _child.get() is not None:
        yield
        return
    children: list[subprocess.Popen[str]] = []
    before = _child.set(children)
    try:
        yield
    finally:
        _child.reset(before)
        for child in children:
            # Closes its input, which ends it, and waits; one that was killed is no error here.
            with suppress(BrokenPipeError), child:
                pass


def _started() -> subprocess.Popen[str]:
    if find_spec(_DRAWING) is None:
        import_module(_DRAWING)  # raises what says how to install it
    return subprocess.Popen(
        [sys.executable, "-P", __file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )


def _asked(child: subprocess.Popen[str], document: Spec) -> str:
    assert child.stdin is not None
    assert child.stdout is not None
    line = ""
    with suppress(BrokenPipeError):
        child.stdin.write(f"{json.dumps(document)}\n")
        child.stdin.flush()
        line = child.stdout.readline()
    if not line:
        raise RuntimeError(f"the process that draws charts ended with {child.wait()}")
    answer = json.loads(line)
    if "error" in answer:
        raise ValueError(answer["error"])
    return str(answer["svg"])


def _serve() -> None:
    """Draw one document after the other; what fails is answered, too."""
    import vl_convert

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends this process by its input
    for line in sys.stdin:
        try:
            answer = {"svg": vl_convert.vega_to_svg(compiled(json.loads(line)))}
        except ValueError as error:
            answer = {"error": str(error)}
        sys.stdout.write(f"{json.dumps(answer)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _serve()
