"""A step that ended by a signal or a hang on its host, without a request to stop."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from diskbench.errors import FioFailed, MeasurementFailed
from diskbench.fio.recorded import last_words, parse_end

if TYPE_CHECKING:
    from collections.abc import Mapping

    from diskbench.hosts.jobs import UnitExit
    from diskbench.hosts.unit import Unit

_ADVICE = "finished steps are kept; look at the machine's log (journalctl, dmesg), then run again"


def raise_if_broken(end: UnitExit, unit: Unit, where: str, files: Mapping[str, bytes]) -> None:
    """Raise MeasurementFailed where a signal that diskbench did not send ended the step, FioFailed
    where fio hung. Both contain fio's last lines of output, from the step's `files`."""
    if end.signal is not None:
        raise MeasurementFailed(
            f"step {unit.name} was ended by signal {end.signal}{_name(end.signal)} on {where}, "
            f"which diskbench did not send; {_machine(end, files)}{last_words(files)}",
            advice=_ADVICE,
        )
    if end.limit is not None:
        limit = unit.fio_limit_s or 0.0
        hung = "it did not end when it was killed: it waits for its disk in the kernel"
        raise FioFailed(
            f"fio hung in step {unit.name}: "
            + (hung if end.limit == "kill" else f"it was still running after {limit:.0f} s")
            + last_words(files),
            advice="its files are in the evidence; look at the disk (dmesg), or try a newer fio",
        )


def _machine(end: UnitExit, files: Mapping[str, bytes]) -> str:
    if end.rebooted:
        return "its boot id changed: the machine was restarted"
    if parse_end(files.get("end.txt", b"")).is_shutdown:
        return "the machine was shutting down"
    return "the machine was not restarted"


def _name(number: int) -> str:
    try:
        return f" ({signal.Signals(number).name})"
    except ValueError:
        return ""
