"""Translation of what Stratus answers when it refuses; the table is errors.yaml."""

from diskbench.errors import DiskbenchError
from diskbench.providers.error_table import error_of, error_tables

TABLE = error_tables("diskbench_stratus")["service"]


class StratusApiError(Exception):
    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


def translate(error: StratusApiError, action: str) -> DiskbenchError:
    return error_of(TABLE, (error.code,), str(error), action)
