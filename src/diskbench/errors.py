"""Every error diskbench raises on purpose.

* DiskbenchError                 exit 1, never raised itself
  - UserError                    exit 2: the input or the environment; nothing was changed
    - UnknownName                a profile, provider, parameter, column … that does not exist
    - InvalidValue               a value out of its range or of the wrong form
    - ProfileError               a profile that does not parse, render or pass fio's own check
    - MatrixError                a matrix file with mistakes, each with its line
    - TargetRefused              a path or device that must not, or cannot, be written to
    - HostUnavailable            a host that cannot be reached, trusted or used
    - StoreUnavailable           the database or the evidence store cannot be used
    - AccessDenied               credentials absent, expired, or not permitted to do it
    - QuotaExceeded              the account may not rent so much
    - CostRefused                it would cost more than was allowed, or nobody knows how much
    - FactsDiffer                figures that must not be pooled: what was found differs
  - MeasurementFailed            exit 1: it ran, and did not end well; evidence is kept
    - FioFailed                  fio ended with an error
    - FioOutputUnreadable        fio's output names no usable result
    - EvidenceDamaged            a fetched file does not match its checksum
    - LimitExceeded              a host or a file gave more than diskbench takes (limits.py)
    - RentalFailed               what was to be rented could not be had, or was not as asked for
      - NoCapacity               the provider has none of it there now; elsewhere or later it may
  - ConnectionLost               exit 1: a host went away (the engine retries before a user sees it)
  - ReleaseFailed                exit 3: something could not be given back
  - Interrupted                  exit 130: a person stopped it

Each carries `message` (what was wrong, with the value) and `advice` (what to do next).
"""

import difflib
from collections.abc import Iterable


class DiskbenchError(Exception):
    """What went wrong, and what to do next; `exit_code` is the process's exit status."""

    exit_code = 1

    def __init__(self, message: str, *, advice: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.advice = advice

    def __str__(self) -> str:
        return f"{self.message}\n  {self.advice}" if self.advice else self.message


class UserError(DiskbenchError):
    """The user's input or environment; nothing was changed."""

    exit_code = 2


class UnknownName(UserError):
    """A name that does not exist; lists the nearest and the known ones."""

    def __init__(self, kind: str, value: str, known: Iterable[str], *, advice: str = "") -> None:
        self.kind, self.value, self.known = kind, value, sorted(known)
        near = difflib.get_close_matches(value, self.known, n=3)
        hint = f"did you mean {' or '.join(near)}? " if near else ""
        listed = ", ".join(self.known) or "none"
        whole = kind.partition(" of ")[2]
        # "unknown parameter of profile 'quick' 'foo'" would read as if 'quick' were unknown.
        told = f"{value!r} is no {kind}" if whole else f"unknown {kind} {value!r}"
        super().__init__(told, advice=advice or f"{hint}known: {listed}")


class InvalidValue(UserError):
    """A value out of its range or of the wrong form."""


class ProfileError(UserError):
    """A profile that does not parse, render, or pass fio's own check."""


class MatrixError(UserError):
    """A matrix file with mistakes; names all of them, each with its line."""


class TargetRefused(UserError):
    """A path or device that must not, or cannot, be written to."""


class HostUnavailable(UserError):
    """A host that cannot be reached, trusted or used."""


class CloudSilent(HostUnavailable):
    """A cloud that does not answer, or asks to come later, where nothing is rented yet."""


class StoreUnavailable(UserError):
    """The database or the evidence store cannot be used."""


class AccessDenied(UserError):
    """Credentials are absent, expired, or lack a permission; names it and how to get it."""


class QuotaExceeded(UserError):
    """The account's quota is used up; names it and where to raise it."""


class CostRefused(UserError):
    """It would cost more than was allowed, or the price is not known; nothing was rented."""


class FactsDiffer(UserError):
    """Figures of different machines, kernels, zones … were to be taken for replicates; names the
    facts with their values."""


class MeasurementFailed(DiskbenchError):
    """It ran and did not end well; the evidence is kept."""


class FioFailed(MeasurementFailed):
    """fio ended with an error."""


class FioOutputUnreadable(MeasurementFailed):
    """fio's output holds no usable result; names file and cause."""


class EvidenceDamaged(MeasurementFailed):
    """A fetched file does not match the checksum taken on the host."""


class LimitExceeded(MeasurementFailed):
    """A host or a file gave more than diskbench takes; names what, the limit and what to do. The
    same would come again, so it is never tried again."""


class RentalFailed(MeasurementFailed):
    """What was to be rented could not be had, or was not as asked for."""


class NoCapacity(RentalFailed):
    """The provider has none of it in this place now."""


class ConnectionLost(DiskbenchError):
    """The connection to a host broke; the work on the host goes on."""


class ReleaseFailed(DiskbenchError):
    """Something could not be given back; says what is left and where."""

    exit_code = 3


class Interrupted(DiskbenchError):
    """A person stopped it; what was finished is kept."""

    exit_code = 130
