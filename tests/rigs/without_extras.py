"""diskbench where only its core is installed: `python -m tests.rigs.without_extras FILE HOME`.

Modules of the extras cannot be imported, as where nothing installed them. FILE holds command lines,
one a line; each is run on the example data, and its exit code and streams go to stdout as JSON."""

import json
import os
import sys
from pathlib import Path

from tests.rigs.cli import in_process

import diskbench
from diskbench.cli.main import main
from diskbench.extras import EXTRA_OF

SDKS = ("boto3", "botocore", "azure", "google", "pyVim", "pyVmomi")
ABSENT = frozenset({*EXTRA_OF, *SDKS})


class Absent:
    """An entry of `sys.meta_path` that has none of the modules of extras."""

    def find_spec(self, name: str, *_: object) -> None:
        if name.partition(".")[0] in ABSENT:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def run(line: str, env: dict[str, str], directory: Path) -> dict[str, object]:
    with in_process(env, directory) as (out, err):
        code = main(line.split())
    return {"line": line, "code": code, "out": out(), "err": err()}


if __name__ == "__main__":
    assert not ABSENT & set(sys.modules)
    sys.meta_path.insert(0, Absent())
    lines, home = Path(sys.argv[1]), Path(sys.argv[2])
    data = diskbench.example_data(home)
    of_example = {"DISKBENCH_DATABASE_URL": data.database, "DISKBENCH_EVIDENCE_URL": data.evidence}
    env = {**os.environ, **of_example, "HOME": str(home), "COLUMNS": "100"}
    print(json.dumps([run(line, env, home) for line in lines.read_text().splitlines()]))
