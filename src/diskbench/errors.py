"""Every error diskbench raises on purpose, and nothing but this file defines one.

Each carries, as data, all that is decided by it; its text is for people and decides nothing:

  message     what was wrong, with the value
  advice      what to do next
  retryable   whether the same attempt may succeed later though nobody changes anything
  passing     whether it holds here and now only: another worker, or this one later, may be able to
  field       the field of a cell that it is about (`size`, `parameters.runtime`); "" for none
  exit_code   the exit status of the process

Suspended is no DiskbenchError: it ends the work of this process and leaves its trials resumable.

An error that is stored, or handed to another process, is a `model.outcome.Problem` with all of it.
"""

import difflib
from collections.abc import Collection, Iterable, Sequence


class DiskbenchError(Exception):
    """What went wrong, what to do next, and the data that callers decide by: see the module."""

    exit_code = 1
    retryable = False
    passing = False

    def __init__(self, message: str, *, advice: str = "", field: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.advice = advice
        self.field = field

    def __str__(self) -> str:
        return f"{self.message}\n  {self.advice}" if self.advice else self.message


class UserError(DiskbenchError):
    """The user's input or environment; nothing was changed."""

    exit_code = 2


def did_you_mean(value: str, known: Iterable[str]) -> str:
    """The question for the nearest known names, with a space after it; "" where none is near."""
    near = difflib.get_close_matches(value, sorted(known), n=3)
    return f"did you mean {' or '.join(near)}? " if near else ""


class UnknownName(UserError):
    """A name that does not exist; lists the nearest and the known ones."""

    def __init__(
        self, kind: str, value: str, known: Iterable[str], *, advice: str = "", field: str = ""
    ) -> None:
        self.kind, self.value, self.known = kind, value, sorted(known)
        hint = did_you_mean(value, self.known)
        listed = f"known: {', '.join(self.known)}" if self.known else f"there is no {kind}"
        owner = kind.partition(" of ")[2]
        # "unknown parameter of profile 'quick' 'foo'" would read as if 'quick' were unknown.
        message = f"{value!r} is not a valid {kind}" if owner else f"unknown {kind} {value!r}"
        super().__init__(message, advice=advice or f"{hint}{listed}", field=field)
        # For messages that already list the known names: the nearest ones are advice enough.
        self.short_advice = advice or hint.rstrip() or listed


def check_known(
    kind: str, value: str | None, known: Collection[str], *, advice: str = "", field: str = ""
) -> None:
    """Raise UnknownName for a value that is not among the `known`; None is no value."""
    if value is not None and value not in known:
        raise UnknownName(kind, value, known, advice=advice, field=field)


class NothingSelected(UnknownName):
    """A selection that no run meets."""

    def __init__(self, words: str) -> None:
        super().__init__("run", words, (), advice="'diskbench results list' lists all runs")
        self.message = f"no run matches {words!r}"


class InvalidValue(UserError):
    """A value out of its range or of the wrong form."""


class ExtraMissing(UserError):
    """Packages of an optional extra that are not installed here; its advice is the command that
    installs them (extras.py)."""

    passing = True


class ProviderBroken(UserError):
    """An installed provider whose package cannot be loaded; the other providers work."""


class ProfileError(UserError):
    """A profile that does not parse, render, or pass fio's own check."""


class MatrixError(UserError):
    """A matrix file with mistakes; names all of them, each with its line."""


class TargetRefused(UserError):
    """A path or device that must not, or cannot, be written to."""


class HostUnavailable(UserError):
    """A host that cannot be reached, trusted or used."""

    passing = True


class Unreachable(HostUnavailable):
    """No answer, or none from an SSH server; a later attempt may succeed."""


class CloudSilent(HostUnavailable):
    """A cloud that does not answer, or asks to come later, where nothing is rented yet."""

    retryable = True


class StoreUnavailable(UserError):
    """The database or the evidence store cannot be used.

    `advice_before_work` replaces `advice` while nothing was started that could be resumed.
    """

    def __init__(
        self, message: str, *, advice: str = "", field: str = "", advice_before_work: str = ""
    ) -> None:
        super().__init__(message, advice=advice, field=field)
        self.advice_before_work = advice_before_work or advice


class KeyTaken(StoreUnavailable):
    """The key already holds other bytes; evidence is never overwritten."""


class NewerFormat(StoreUnavailable):
    """Evidence that a later diskbench wrote, in a format this one does not know."""


class AccessDenied(UserError):
    """Credentials are absent, expired, or lack a permission; names it and how to get it."""

    passing = True


class LoggedOut(AccessDenied):
    """The session with a cloud ended; the provider's client logs in again once."""


class QuotaExceeded(UserError):
    """The account's quota is used up; names it and where to raise it."""

    retryable = True
    passing = True


class CostRefused(UserError):
    """It would cost more than was allowed, or the price is not known; nothing was rented."""


class NoFigure(InvalidValue):
    """No finished run of a selection has the figure that was asked for."""


class FactsDiffer(UserError):
    """Figures of different machines, kernels, zones … cannot be pooled as replicates; names the
    facts that differ, with their values."""


class MeasurementFailed(DiskbenchError):
    """The measurement ran and failed; its evidence is kept."""


class FioFailed(MeasurementFailed):
    """fio ended with an error."""


class FioOutputUnreadable(MeasurementFailed):
    """fio's output holds no usable result; names file and cause."""


class EvidenceDamaged(MeasurementFailed):
    """A fetched file does not match the checksum taken on the host."""


class StepsMissing(EvidenceDamaged):
    """Steps of a finished run that are not in the store; `steps` names each, and says why."""

    def __init__(self, run_id: str, url: str, steps: Sequence[tuple[str, str]]) -> None:
        names = ", ".join(name for name, _ in steps)
        super().__init__(
            f"{len(steps)} of its steps cannot be found in {url}: {names}",
            advice=f"copy runs/{run_id}/steps/ from another store into this one, then rebuild "
            f"again",
        )
        self.steps = tuple(steps)


class LimitExceeded(MeasurementFailed):
    """A host or a file exceeds a limit (limits.py); names what, the limit and what to do. A retry
    would exceed it again, so there is none."""


class RentalFailed(MeasurementFailed):
    """The machine or disk could not be rented, or differs from what was requested."""

    retryable = True


class NoCapacity(RentalFailed):
    """The provider has no capacity for it in this region or zone now."""

    passing = True


class Unanswered(RentalFailed):
    """A cloud did not answer, or sent no result; the provider's client retries for a while.

    `look_at` is what a person can check. `advice` ends with `diskbench resume`, which continues
    with whatever was rented meanwhile. `retry_after_s` is how long the cloud asks to wait before
    the next attempt; 0 where it does not say.
    """

    retry_after_s: float = 0.0

    def __init__(self, message: str, *, look_at: str = "") -> None:
        super().__init__(
            message, advice=f"{look_at}, then diskbench resume" if look_at else "diskbench resume"
        )
        self.look_at = look_at


class Throttled(Unanswered):
    """A cloud throttled the call."""


class Busy(Unanswered):
    """A cloud is already changing the same resource, usually for an earlier call of ours whose
    answer was lost."""


class NotListedYet(Busy):
    """A resource is made, and its cloud does not list it yet: listings and reads lag behind
    operations."""


class ConnectionLost(DiskbenchError):
    """The connection to a host broke; the work on the host goes on."""

    passing = True


class AgentError(DiskbenchError):
    """A request to a host that could not be done; the message is the host's reason."""


class ReleaseFailed(DiskbenchError):
    """A rented resource could not be given back; names what is left and where."""

    exit_code = 3


class Interrupted(DiskbenchError):
    """A person stopped the work; finished steps are kept."""

    exit_code = 130


class Suspended(BaseException):
    """This process stops working on a trial, whose state is kept until a process resumes it.

    `error` is the cause. Not an Exception, because the workflow engine records every Exception as
    the end of the workflow, and because handlers of measurement errors must not catch it.
    """

    def __init__(self, error: BaseException) -> None:
        super().__init__(str(error))
        self.error = error
