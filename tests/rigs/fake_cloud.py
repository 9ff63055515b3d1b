"""A user with a fake cloud of their own."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.rigs.cli import Cli, a_user

from diskbench.providers.fake.cloud import VARIABLE


@contextmanager
def a_user_of_the_fake_cloud(tmp_path: Path, database_url: str) -> Iterator[Cli]:
    """A user whose rows are at `database_url`, and whose fake cloud must be empty in the end."""
    made = a_user(tmp_path)
    with tempfile.TemporaryDirectory(prefix="diskbench-test-", dir="/var/tmp") as directory:
        made.extra_env |= {VARIABLE: f"{directory}/fake", "DISKBENCH_DATABASE_URL": database_url}
        yield made
        left = [*(Path(directory) / "fake/resources").glob("*")]
        assert left == [], "a test leaves nothing rented behind"
