"""`diskbench config`: every setting and where it came from."""

import json
import sys

from rich.table import Table

from diskbench.cli.terminal import TableOrJson
from diskbench.report.terminal.screen import print_trimmed, screen
from diskbench.settings import Settings, traced_settings

FORMAT = 1


def config(output: TableOrJson = "table") -> None:
    """Print each setting, its value, and where it came from; passwords are never shown.

    Flag > DISKBENCH_* environment > ./diskbench.toml > the user's config.toml > default.
    """
    own, origins, unknown = traced_settings()
    rows = [(name, own.shown(name), origins[name]) for name in Settings.model_fields]
    if output == "json":
        settings = {name: {"value": value, "origin": origin} for name, value, origin in rows}
        print(json.dumps({"format": FORMAT, "settings": settings}, indent=2))
    else:
        table = Table(box=None, pad_edge=False, header_style="bold")
        for column in ("setting", "value", "from"):
            table.add_column(column, overflow="fold")
        for row in rows:
            table.add_row(*row)
        print_trimmed(screen(), table)
    for name in unknown:
        print(f"warning: the environment variable {name} is not a setting", file=sys.stderr)
