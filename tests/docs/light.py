"""`python -m tests.docs.light < LINES`: run many light commands of diskbench in one process.

Each line is a JSON list of words; for each, one line of JSON is printed: exit code, stdout, stderr.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path


def main() -> None:
    """Run them in their order."""
    from diskbench.cli.main import main as diskbench

    answers = os.fdopen(os.dup(1), "w")
    with tempfile.TemporaryDirectory() as scratch:
        out, err = Path(scratch, "out"), Path(scratch, "err")
        for line in sys.stdin:
            kept = os.dup(2)
            with out.open("wb") as printed, err.open("wb") as said:
                os.dup2(printed.fileno(), 1)
                os.dup2(said.fileno(), 2)
            try:
                code = diskbench(json.loads(line))
                sys.stdout.flush()
                sys.stderr.flush()
            finally:
                os.dup2(kept, 2)
                os.close(kept)
            answers.write(json.dumps([code, out.read_text(), err.read_text()]) + "\n")
    answers.close()


if __name__ == "__main__":
    main()
