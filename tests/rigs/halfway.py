"""`python -m tests.rigs.halfway DATABASE_URL --process PID`: wait until a matrix is half way, some
of its cells done and others being measured; ends with 1 when the process ended before."""

import sys
import time
from collections import Counter
from pathlib import Path

import sqlalchemy as sa

LOOK_S = 0.1


def cell_states(engine: sa.Engine) -> Counter[str]:
    """How many cells of the newest matrix are in each state; none before there is one."""
    query = (
        "SELECT state FROM diskbench_cell WHERE campaign_id = "
        "(SELECT MAX(campaign_id) FROM diskbench_matrix WHERE state <> 'done')"
    )
    try:
        with engine.connect() as connection:
            return Counter(connection.execute(sa.text(query)).scalars())
    except sa.exc.OperationalError:  # there is no database yet, or no table
        return Counter()


def wait(database_url: str, process: str) -> bool:
    engine = sa.create_engine(database_url, poolclass=sa.NullPool)
    while (states := cell_states(engine))["done"] < 1 or states["measuring"] < 2:
        if not Path(f"/proc/{process}").exists():
            return False
        time.sleep(LOOK_S)
    return True


if __name__ == "__main__":
    database_url, _, process = sys.argv[1:]
    sys.exit(0 if wait(database_url, process) else 1)
