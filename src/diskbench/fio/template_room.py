"""Expand a Jinja template in the sandbox; also the program that expands a user's template.

Jinja's sandbox limits what a template can reach, but not its time or memory: nested loops,
`"x" * 10**9`, recursive macros and filters such as `center` have no limit. So a user's template is
expanded in a process that the kernel ends after TEMPLATE_S of processor time and that has
TEMPLATE_MEMORY_BYTES of memory. That process runs this file, which imports nothing of diskbench, so
that it starts in 0.1 s.
"""

import json
import sys
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Template

_FILE = "<template>"
_LONGEST = 500
"""Most characters of a message: it may name a key that the template made."""


def expand(text: str, values: dict[str, Any]) -> dict[str, Any]:
    """`{"text": …}`, or `{"kind": …, "message": …, "line": …}` where the template is wrong. Lines
    count from 1."""
    from jinja2 import TemplateSyntaxError, UndefinedError

    try:
        return {"text": _compiled(text).render(values)}
    except TemplateSyntaxError as error:
        return {"kind": "syntax", "message": str(error.message)[:_LONGEST], "line": error.lineno}
    except UndefinedError as error:
        return {"kind": "undefined", "message": str(error.message)[:_LONGEST], "line": _line(error)}
    except MemoryError as error:
        return {"kind": "memory", "message": "", "line": _line(error)}
    except RecursionError as error:
        message = "it calls itself without end, or is nested too deeply"
        return {"kind": "wrong", "message": message, "line": _line(error)}
    except Exception as error:  # noqa: BLE001 - whatever a filter raises
        return {"kind": "wrong", "message": str(error)[:_LONGEST], "line": _line(error)}


@lru_cache(maxsize=64)  # a profile has few templates, and each cell of a matrix expands them
def _compiled(text: str) -> "Template":
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    # Output is a fio job file: there is no HTML to escape.
    room = ImmutableSandboxedEnvironment(
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    return room.from_string(text)


def _line(error: BaseException) -> int:
    """The line of the template that raised; Jinja puts it into the traceback."""
    line, trace = 1, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == _FILE:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def _main() -> None:
    """Read `{text, values, seconds, bytes, longest}` from standard input; write what `expand`
    returns, or `{"kind": "long"}`, to standard output."""
    import resource
    import signal

    asked = json.load(sys.stdin)
    resource.setrlimit(resource.RLIMIT_AS, (asked["bytes"], asked["bytes"]))
    # The default action ends the process at any point, also in a filter written in C.
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, asked["seconds"])
    expanded = expand(asked["text"], asked["values"])
    if len(expanded.get("text", "")) > asked["longest"]:
        expanded = {"kind": "long", "message": "", "line": 1}
    signal.setitimer(signal.ITIMER_PROF, 0)
    json.dump(expanded, sys.stdout)


if __name__ == "__main__":
    _main()
