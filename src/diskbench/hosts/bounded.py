"""Limits on the data that a host sends, counted as they arrive (limits.py)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.errors import LimitExceeded
from diskbench.limits import COMMAND_BYTES, FOLLOWED_BYTES, LINE_BYTES
from diskbench.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from diskbench.ports import ByteSink

_SHOWN = 60
"""Characters of a command or line that a message shows."""


class OutputLimit:
    """Counts the bytes of one command; raises LimitExceeded past `limit`."""

    def __init__(self, host: str, script: str, limit: int = COMMAND_BYTES) -> None:
        self._host, self._script, self._left, self._limit = host, script, limit, limit

    def take(self, data: bytes) -> bytes:
        """Count `data` and return it. Raises LimitExceeded past the limit."""
        self._left -= len(data)
        if self._left < 0:
            raise LimitExceeded(
                f"{self._host} printed more than {format_bytes(self._limit)} for one command "
                f"({shown_script(self._script)})",
                advice="run the command there by hand: one of its programs may have been replaced",
            )
        return data


def whole_lines(chunks: Iterable[bytes], host: str) -> Iterator[bytes]:
    """The lines in `chunks`, without line ends. Raises LimitExceeded for a line or a stream that is
    longer than any that diskbench writes."""
    pending, total = bytearray(), 0
    for chunk in chunks:
        total += len(chunk)
        if total > FOLLOWED_BYTES:
            raise LimitExceeded(
                f"{host} sent more than {format_bytes(FOLLOWED_BYTES)} of lines for one step",
                advice="a step has one line a second: look at live.tsv in the step's directory",
            )
        first, *rest = chunk.split(b"\n")
        pending += first
        _check_line(pending, host)
        for line in rest:
            yield bytes(pending)
            pending = bytearray(line)
            _check_line(pending, host)
    if pending:
        yield bytes(pending)


def _check_line(line: bytearray, host: str) -> None:
    if len(line) > LINE_BYTES:
        raise LimitExceeded(
            f"{host} sent a line of more than {format_bytes(LINE_BYTES)}, which begins "
            f"{bytes(line[:_SHOWN])!r}",
            advice="a line of a step has 350 bytes: look at live.tsv in the step's directory",
        )


class CappedSink:
    """A sink that passes on up to `limit` bytes. Raises LimitExceeded for more, naming `what`."""

    def __init__(self, sink: ByteSink, limit: int, what: str, advice: str) -> None:
        self._sink, self._limit, self._left = sink, limit, limit
        self._what, self._advice = what, advice

    def write(self, data: bytes, /) -> object:
        """Pass on `data`. Raises LimitExceeded past the limit."""
        self._left -= len(data)
        if self._left < 0:
            raise LimitExceeded(
                f"{self._what} takes more than {format_bytes(self._limit)}", advice=self._advice
            )
        return self._sink.write(data)


def shown_script(script: str) -> str:
    """The first line of a script, as a message shows it."""
    line = script.strip().partition("\n")[0]
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 1]}…"
