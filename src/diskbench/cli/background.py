"""A command of diskbench in a process of its own, which outlives this terminal (`--detach`)."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

from diskbench.files import append_private, log_directory

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from diskbench.engine.session import Session


def in_background(
    command: Sequence[str], session: Session, evidence_url: str, *, name: str
) -> Path:
    """Start `diskbench COMMAND` on the stores of `session`; returns the log to which it writes,
    which is named `name`."""
    log = log_directory() / f"{name}.log"
    # The stores are in the environment: arguments can be read by every user of the machine.
    url = session.database.url.render_as_string(hide_password=False)
    stores = {"DISKBENCH_DATABASE_URL": url, "DISKBENCH_EVIDENCE_URL": evidence_url}
    with append_private(log) as sink:
        subprocess.Popen(
            [sys.executable, "-m", "diskbench", *command],
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=sink,
            start_new_session=True,
            env=os.environ | stores,
        )
    return log
