"""What is leaked, lost or doubled when processes are killed at random moments? It must be nothing.

Matrices over the four emulated clouds, with lab hosts behind them (or over the fake cloud), are run
again and again, while whoever runs them is killed with SIGKILL and started anew: a foreground
`diskbench matrix run|resume` on SQLite, then two `diskbench worker`s on PostgreSQL, one at a time.
The books are kept behind diskbench's back (tests/rigs/books.py). Ends with 1 unless every count
that must be 0 is 0.

    python benchmarks/chaos.py [--kills 200] [--on clouds|fake] [--seed N] [--every 6]
"""

import argparse
import os
import random
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from emulators import together  # noqa: E402 - the tests' own clouds and rigs
from tests.rigs.books import Books, audit, in_directories  # noqa: E402
from tests.rigs.postgres import running_postgres  # noqa: E402

WORKERS = (("--concurrency", "2"), ())
"""The options of each worker: one that begins what it has room for, and one that takes all."""
LOOK_S = 0.5
ENDS_WITHIN_S = 900.0
"""After the last kill."""
FAKE_MATRIX = """name: fakes
defaults: {{provider: fake, disk: plain, size: 1, profile: ./fake.fio, replicates: 4}}
axes:
  zone: [fake-1a, fake-1b]
limits: {{max_parallel: {parallel}}}
"""
FAKE_JOB = """[global]
ioengine=null
size=1m
[write]
rw=write
[read]
stonewall
rw=randread
time_based
runtime=1
"""
FAKE_ROWS = ("write/write", "read/read")


@dataclass(frozen=True)
class World:
    """Where a matrix rents, and who can say what is still there."""

    env: Mapping[str, str]
    matrix: str
    rows: tuple[tuple[str, str], ...]
    left: Callable[[], list[str]]


@dataclass(frozen=True)
class Hunt:
    """What became of the processes of one part: kills, ends that were none of ours, wall seconds of
    the matrix that nobody disturbed and of all that somebody did, and how many those were."""

    kills: int
    odd: tuple[str, ...]
    calm_s: float
    hunted_s: float
    matrices: int

    @property
    def lost_s(self) -> float:
        """Wall seconds that a kill cost, on average: dying, noticing, starting, going on."""
        return max(0.0, self.hunted_s - self.matrices * self.calm_s) / max(1, self.kills)


@dataclass
class Process:
    """`diskbench` with its words, telling a log."""

    env: Mapping[str, str]
    log: Path

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as sink:
            return subprocess.Popen(
                [sys.executable, "-m", "diskbench", *words],
                env=self.env,
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=sink,
                start_new_session=True,
            )

    def end_of_log(self) -> str:
        return self.log.read_text(errors="replace")[-1500:]


def controllers_hunted(
    process: Process,
    world: World,
    database: str,
    *,
    kills: int,
    chance: random.Random,
    every: float,
) -> Hunt:
    """Kill foreground matrices; a matrix that is over is followed by the next."""
    began = time.monotonic()
    calm = process.start("matrix", "run", world.matrix)
    odd = _odd(calm, calm.wait(ENDS_WITHIN_S), process)
    calm_s = time.monotonic() - began
    killed, matrices, began = 0, 0, time.monotonic()
    while True:
        goes_on = running(database)
        if not goes_on and killed >= kills:
            return Hunt(killed, tuple(odd), calm_s, time.monotonic() - began, matrices)
        matrices += not goes_on
        words = ("resume",) if goes_on else ("run", world.matrix)
        one = process.start("matrix", *words)
        try:
            await_work(one, database)
            wait = chance.expovariate(1 / every) if killed < kills else ENDS_WITHIN_S
            odd += _odd(one, one.wait(wait), process)
        except subprocess.TimeoutExpired:
            killed += 1
        finally:
            one.kill()
            one.wait()
        if one.returncode == -signal.SIGKILL:
            tell(f"{killed} controllers killed, {matrices} matrices begun")


def workers_hunted(
    process: Process,
    world: World,
    database: str,
    *,
    kills: int,
    chance: random.Random,
    every: float,
) -> Hunt:
    """Kill one worker of several, start another in its place; queue a matrix whenever none runs."""
    odd: list[str] = []

    def queued() -> None:
        one = process.start("matrix", "run", "--queue", world.matrix)
        odd.extend(_odd(one, one.wait(120), process))

    def over() -> None:
        deadline = time.monotonic() + ENDS_WITHIN_S
        while running(database):
            if time.monotonic() > deadline:
                odd.append(f"a matrix did not end:\n{process.end_of_log()}")
                return
            time.sleep(LOOK_S)

    workers = [process.start("worker", *options) for options in WORKERS]
    try:
        began = time.monotonic()
        queued()
        over()
        calm_s, killed, matrices, began = time.monotonic() - began, 0, 0, time.monotonic()
        while killed < kills:
            if not running(database):
                queued()
                matrices += 1
            victim = chance.randrange(len(WORKERS))
            await_work(workers[victim], database)
            time.sleep(chance.expovariate(1 / every))
            if (code := workers[victim].poll()) is not None:
                odd += _odd(workers[victim], code, process)
            workers[victim].kill()
            workers[victim].wait()
            workers[victim] = process.start("worker", *WORKERS[victim])
            killed += 1
            tell(f"{killed} workers killed, {matrices} matrices begun")
        over()
        return Hunt(killed, tuple(odd), calm_s, time.monotonic() - began, matrices)
    finally:
        for worker in workers:
            worker.terminate()
        for worker in workers:
            worker.wait(60)


def running(database: str) -> bool:
    """Whether a matrix is not over."""
    query = sa.text("SELECT COUNT(*) FROM diskbench_matrix WHERE state <> 'done'")
    return _count(database, query) > 0


def await_work(process: subprocess.Popen[bytes], database: str) -> None:
    """Wait until a process has enrolled, or ended: importing, it has nothing to lose yet."""
    query = sa.text("SELECT COUNT(*) FROM diskbench_executor WHERE pid = :pid")
    while process.poll() is None and not _count(database, query.bindparams(pid=process.pid)):
        time.sleep(0.05)


def _count(database: str, query: sa.TextClause) -> int:
    """What is counted; 0 before there is a database."""
    engine = sa.create_engine(
        database.replace("postgresql://", "postgresql+psycopg://"), poolclass=sa.NullPool
    )
    try:
        with engine.connect() as connection:
            return int(connection.execute(query).scalar_one())
    except (sa.exc.OperationalError, sa.exc.ProgrammingError):
        return 0


def _odd(process: subprocess.Popen[bytes], code: int, told: Process) -> list[str]:
    """A process that was not killed ends well: its matrix has no reason to fail."""
    words = " ".join(map(str, list(process.args)[3:])) if isinstance(process.args, list) else ""
    return [] if code == 0 else [f"{words!r} ended with {code}:\n{told.end_of_log()}"]


@contextmanager
def clouds(state: Path) -> Iterator[World]:
    """The four emulated clouds, lab hosts behind them."""
    with together.serve(state / "clouds", seconds=3) as told:
        env = {name: value for name, value in os.environ.items() if name not in told.unset}
        env |= told.env

        def left() -> list[str]:
            found = in_directories(*(state / "clouds" / name / "lab" for name in told.listing))
            for name, words in told.listing.items():
                module = f"emulators.{name}.listing"
                listed = subprocess.run(
                    [sys.executable, "-m", module, *words],
                    env=env,
                    cwd=ROOT,
                    capture_output=True,
                    text=True,
                    check=False,
                )
                found += [f"{name}:\n{listed.stdout}{listed.stderr}"] * (listed.returncode != 0)
            return found

        yield World(env, told.matrix, pairs(told.rows), left)


@contextmanager
def fakes(state: Path) -> Iterator[World]:
    """The fake cloud: no machine but this one, no disk."""
    place = state / "fake"
    (state / "fake.fio").write_text(FAKE_JOB)
    (state / "matrix.yaml").write_text(FAKE_MATRIX.format(parallel=4))
    env = dict(os.environ) | {"DISKBENCH_FAKE_DIR": str(place)}
    yield World(env, str(state / "matrix.yaml"), pairs(FAKE_ROWS), lambda: in_directories(place))


WORLDS = {"clouds": clouds, "fake": fakes}


def pairs(rows: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """`step/direction` taken apart."""
    return tuple((step, direction) for step, _, direction in (row.partition("/") for row in rows))


def process_in(home: Path, world: World, database: str) -> Process:
    """A user with a home, stores and a log of their own."""
    home.mkdir()
    env = dict(world.env) | {
        "HOME": str(home),
        "XDG_DATA_HOME": str(home / "data"),
        "DISKBENCH_DATABASE_URL": database,
        "DISKBENCH_EVIDENCE_URL": (home / "evidence").as_uri(),
    }
    (home / "evidence").mkdir()
    return Process(env, home / "log")


def tell(text: str) -> None:
    """A line that the next one overwrites, on a terminal."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()


def show(rows: list[tuple[str, Hunt, Books]]) -> bool:
    """Print the counts; whether nothing is wrong."""
    names = ["", *(name for name, _, _ in rows)]
    table = [names, ["kills", *(str(hunt.kills) for _, hunt, _ in rows)]]
    table += [
        [name, *(str(books.counts[name]) for _, _, books in rows)] for name in rows[0][2].counts
    ]
    table += [
        ["unexpected ends", *(str(len(hunt.odd)) for _, hunt, _ in rows)],
        ["matrices begun", *(str(hunt.matrices + 1) for _, hunt, _ in rows)],
        ["undisturbed, s each", *(f"{hunt.calm_s:.1f}" for _, hunt, _ in rows)],
        ["lost by a kill, s", *(f"{hunt.lost_s:.1f}" for _, hunt, _ in rows)],
    ]
    for first, *figures in table:
        print(f"{first:22}" + "".join(f"{figure:>14}" for figure in figures))
    wrong = [one for _, hunt, books in rows for one in (*books.wrong, *hunt.odd)]
    for one in wrong:
        print(f"  {one}")
    return not wrong


def main() -> int:
    """Hunt, and print the counts."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--kills", type=int, default=200, help="half of controllers, half of workers"
    )
    parser.add_argument("--on", choices=sorted(WORLDS), default="clouds")
    parser.add_argument(
        "--every",
        type=float,
        default=6.0,
        help="mean life at work, s; exponential, so that some live long",
    )
    parser.add_argument("--seed", type=int, default=None)
    given = parser.parse_args()
    # Whoever ends this ends in order what it started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    seed = secrets.randbelow(2**32) if given.seed is None else given.seed
    chance = random.Random(seed)
    print(f"on {given.on}, seed {seed}", flush=True)
    half = given.kills // 2
    rows = []
    with (
        tempfile.TemporaryDirectory(prefix="diskbench-chaos-", dir="/var/tmp") as directory,
        running_postgres() as postgres,
    ):
        state = Path(directory)
        with WORLDS[given.on](state) as world:
            sqlite = f"sqlite:///{state}/controllers/rows.db"
            for name, database, hunted, kills in (
                ("controllers", sqlite, controllers_hunted, given.kills - half),
                ("workers", postgres, workers_hunted, half),
            ):
                process = process_in(state / name, world, database)
                hunt = hunted(
                    process, world, database, kills=kills, chance=chance, every=given.every
                )
                books = audit(
                    database, state / name / "evidence", expected=world.rows, left=world.left()
                )
                rows.append((name, hunt, books))
    tell("")
    return 0 if show(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
