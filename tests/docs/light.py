"""`python -m tests.docs.light < LINES`: run many light commands of diskbench in one process.

Each line is a JSON list of words; for each, one line of JSON is printed: exit code, and stderr.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path


def main() -> None:
    """Run them in their order."""
    from diskbench.cli.main import run

    answers = os.fdopen(os.dup(1), "w")
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch, "out")
        for line in sys.stdin:
            kept = os.dup(2)
            with out.open("wb") as file:
                os.dup2(file.fileno(), 1)
                os.dup2(file.fileno(), 2)
            try:
                code = run(json.loads(line))
                sys.stdout.flush()
                sys.stderr.flush()
            finally:
                os.dup2(kept, 2)
                os.close(kept)
            answers.write(json.dumps([code, out.read_text()[-1000:]]) + "\n")
    answers.close()


if __name__ == "__main__":
    main()
