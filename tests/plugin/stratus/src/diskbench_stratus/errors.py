"""What Stratus answers when it refuses, and which error of diskbench it is."""

from diskbench.errors import (
    AccessDenied,
    DiskbenchError,
    InvalidValue,
    NoCapacity,
    QuotaExceeded,
    RentalFailed,
)
from diskbench.providers.error_table import CloudError, ErrorRow, ErrorTable, error_of

TABLE: ErrorTable = (
    ErrorRow(
        NoCapacity, "Stratus has no capacity for it: {told}", "try another --zone",
        codes=("sky-full",),
    ),
    ErrorRow(
        QuotaExceeded, "the quota of tenant {tenant} is used up: {told}",
        "ask Stratus to raise it, or give back what is not needed (diskbench gc)",
        codes=("quota-.*",), found=("tenant (?P<tenant>[a-z]+)",), otherwise={"tenant": "ground"},
    ),
    ErrorRow(
        AccessDenied, "Stratus does not allow {action}: {told}", "log in: stratus login",
        codes=("no-token", "forbidden"),
    ),
    ErrorRow(
        InvalidValue, "Stratus refuses {action}: {told}", "correct the value that it names",
        codes=("bad-.*",),
    ),
    ErrorRow(RentalFailed, "Stratus refuses {action}: {told}", "the reason is Stratus' own"),
)  # fmt: skip


class StratusApiError(Exception):
    """What the client library of Stratus raises."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


def translate(error: StratusApiError, action: str) -> DiskbenchError:
    """diskbench's error for one of Stratus at a call (`machines.create`)."""
    return error_of(TABLE, CloudError((error.code,), str(error), action))
