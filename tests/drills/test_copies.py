"""A data directory that was copied, moved or taken apart, in the hands of a destructive command.
Whatever the umask says, only its owner may read it. The database and the evidence store go away
under a matrix, and come back."""

import os
import shutil
import signal
import sqlite3
import stat
import subprocess
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
import sqlalchemy as sa
from tests.rigs import dying
from tests.rigs.cli import Cli, over_ssh
from tests.rigs.flaky_proxy import flaky_proxy
from tests.rigs.loops import filesystem, fill, tmpfs
from tests.rigs.postgres import postgres_server
from tests.rigs.sshd import running_sshd
from tests.rigs.waiting import ended, killed_at, until

from diskbench.providers.lab.places import VARIABLE
from diskbench.providers.lab.processes import find_groups, init_of

GOBONNIEGO = Path(__file__).parents[1] / "cases/imported/gobonniego-1.0.9.json"
DELETE = ("results", "delete", "last", "-y")
PRUNE = ("results", "prune", "--keep", "0s", "-y")


@dataclass(frozen=True)
class Homes:
    """A user's data directory with one run, and the place of a copy of it."""

    user: Cli
    first: Path
    second: Path

    def there(self, place, **more):
        return Cli(self.user.home, self.user.extra_env | {"XDG_DATA_HOME": str(place)} | more)

    def imported(self, **more):
        self.there(self.first, **more).called("results", "import", str(GOBONNIEGO))

    def copied(self, *options):
        places = f"{self.first}/diskbench", f"{self.second}/"
        subprocess.run(["cp", "-r", *options, *places], check=True)


@pytest.fixture
def homes(user, tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    return Homes(user, first, second)


def content(top):
    """All files of an evidence store: not those of the database, which a look may change."""
    files = [one for one in top.rglob("*") if one.is_file() and "diskbench.db" not in one.name]
    return {str(path): path.read_bytes() for path in files}


@pytest.mark.parametrize("options", [(), ("-L",), ("-p",)], ids=["cp -r", "cp -rL", "cp -rp"])
def test_a_copied_data_directory_acts_on_itself(homes, options):
    """Cp -r, links followed or not, then delete, prune and rebuild in the copy."""
    homes.imported()
    homes.copied(*options)
    before = content(homes.first / "diskbench/evidence")
    copy = homes.there(homes.second)
    for words in (("results", "rebuild"), PRUNE, DELETE):
        done = copy.called(*words)
    assert f"{homes.second.as_uri()}/diskbench/evidence" in done.stdout
    assert content(homes.first / "diskbench/evidence") == before
    assert not list((homes.second / "diskbench/evidence/runs").glob("*/manifest.json"))


def linked(homes):
    """The evidence was moved to a large disk, with a link in its place; cp -r copies the link."""
    homes.imported()
    large, evidence = homes.first / "large", homes.first / "diskbench/evidence"
    shutil.move(evidence, large)
    evidence.symlink_to(large)
    homes.there(homes.first).called("results", "rebuild")
    homes.copied()
    return homes.there(homes.second)


def kept_elsewhere(homes):
    """DISKBENCH_EVIDENCE_URL named a directory when the run was made, and is gone in the copy."""
    homes.imported(DISKBENCH_EVIDENCE_URL=(homes.first / "kept").as_uri())
    homes.copied()
    return homes.there(homes.second)


def in_a_settings_file(homes):
    homes.imported(DISKBENCH_EVIDENCE_URL=(homes.first / "kept").as_uri())
    (homes.user.home / "diskbench.toml").write_text(f'evidence_url = "{homes.second}/other"\n')
    return homes.there(homes.first)


def database_elsewhere(homes):
    """The database is a file elsewhere, which both places use; the evidence was copied."""
    more = {"DISKBENCH_DATABASE_URL": f"sqlite:///{homes.user.home}/rows.db"}
    homes.imported(**more)
    homes.copied()
    return homes.there(homes.second, **more)


def database_alone(homes):
    """DISKBENCH_DATABASE_URL names the copy of the database; the settings name the first store."""
    homes.imported()
    homes.copied()
    more = {"DISKBENCH_DATABASE_URL": f"sqlite:///{homes.second}/diskbench/diskbench.db"}
    return homes.there(homes.first, **more)


def bucket(homes):
    homes.imported()
    with closing(sqlite3.connect(homes.first / "diskbench/diskbench.db")) as rows, rows:
        rows.execute("UPDATE diskbench_run SET evidence_url = 's3://theirs/disks'")
    return homes.there(homes.first, DISKBENCH_EVIDENCE_URL="s3://mine/disks")


WAYS = (linked, kept_elsewhere, in_a_settings_file, database_elsewhere, database_alone, bucket)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_a_store_that_the_settings_do_not_name_is_not_changed(homes, way):
    """Delete and prune where the rows name a store that the settings do not."""
    copy = way(homes)
    before = content(homes.first), content(homes.second)
    for words in (DELETE, PRUNE):
        refused = copy.refused(*words)
        assert "the evidence of 2 runs is in" in refused.stderr
        assert "--evidence-url" in refused.stderr
    assert (content(homes.first), content(homes.second)) == before


def test_a_store_that_was_typed_is_changed(homes):
    """The evidence of an original is named by --evidence-url when its copy deletes."""
    copy, kept = kept_elsewhere(homes), homes.first / "kept"
    assert kept.as_uri() in copy.called(*DELETE, "--evidence-url", kept.as_uri()).stdout
    assert not list((kept / "runs").glob("*/manifest.json"))


def test_a_moved_data_directory_works_where_it_is(homes):
    """Mv of the data directory: the old one is not made again."""
    homes.imported()
    shutil.move(homes.first / "diskbench", homes.second)
    moved = homes.there(homes.second)
    shown = moved.call("results", "show", "last")
    assert (shown.returncode, "evidence" in shown.stderr) == (0, False), shown.stderr
    moved.called(*DELETE)
    assert list(homes.first.iterdir()) == []


@pytest.mark.parametrize("gone", [False, True], ids=["there", "gone"])
def test_reading_from_a_store_that_is_not_named_is_shown_once(homes, gone):
    """A copy reads evidence that its rows have elsewhere, there and gone; none is made again."""
    copy, kept = kept_elsewhere(homes), homes.first / "kept"
    if gone:
        shutil.move(kept, homes.first / "away")
    shown = copy.called("report", "last", "-o", str(homes.second / "page.html"))
    assert shown.stderr.count(kept.as_uri()) == 1, shown.stderr
    assert kept.exists() is not gone


@pytest.mark.thorough
def test_a_run_is_resumed_in_the_copy_alone(homes, target):
    """A data directory with a killed run is copied, and the run resumed in the copy."""
    mine = homes.user.job(seconds=6)
    process = homes.there(homes.first).start("run", "--path", str(target), "--profile", mine)
    killed_at(process, "step 2 of 2")
    homes.copied()
    before = content(homes.first / "diskbench/evidence")
    homes.there(homes.second).done("resume", "--quiet")
    assert content(homes.first / "diskbench/evidence") == before
    (run,) = homes.there(homes.second).json("results", "list")["runs"]
    where = (homes.second / "diskbench/evidence").as_uri()
    assert (run["state"], run["evidence_url"]) == ("done", where)


def open_to_others(*tops):
    """Everything below these directories that others may use, or that its owner may not."""
    found = []
    for path in (one for top in tops for one in (top, *sorted(top.rglob("*")))):
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode) or stat.S_ISSOCK(mode):
            continue
        owners = 0o700 if stat.S_ISDIR(mode) else 0o600
        if stat.S_IMODE(mode) & 0o077 or stat.S_IMODE(mode) & owners != owners:
            found.append(f"{stat.S_IMODE(mode):03o} {path}")
    return found


def done(user, umask, line):
    ended(user.start(*line.split(), umask=umask))


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077], ids=["000", "022", "077"])
def test_what_a_run_leaves_is_for_its_owner_alone(user, target, umask):
    """Umask 000, 022 or 077; runs, a matrix, an import, a prune and a report: 700 and 600."""
    measured = f"--path {target} --profile {user.job()}"
    shutil.copy(GOBONNIEGO, user.home / "theirs.json")
    cell = f"{{provider: local, path: {target}, profile: ./mine.fio}}"
    user.job(f"name: m\ndefaults: {cell}\n", "m.yaml")
    for line in (
        *(f"run {measured}", f"run --detach {measured}", "matrix run m.yaml"),
        *("results import theirs.json", "results show last", "results prune --keep 0s -y"),
    ):
        done(user, umask, line)
    tops = [path for path in user.home.iterdir() if path.name.startswith(".")]
    assert (user.home / ".local/share/diskbench/evidence/runs").is_dir()
    assert open_to_others(*tops) == []
    assert list(target.iterdir()) == []


@pytest.mark.parametrize("umask", [0o022, 0o077], ids=["022", "077"])
def test_pages_follow_the_umask(user, umask):
    """Umask 022 or 077 when a site and a report are written: pages are for readers."""
    shutil.copy(GOBONNIEGO, user.home / "theirs.json")
    done(user, umask, "results import theirs.json")
    done(user, umask, "publish site --with-evidence -q")
    done(user, umask, "report last -o page.html")
    modes = {
        stat.S_IMODE(path.stat().st_mode)
        for path in (user.home / "site").rglob("*")
        if path.is_file() and path.suffix != ".sqlite"
    } | {stat.S_IMODE((user.home / "page.html").stat().st_mode)}
    assert modes == {0o666 & ~umask}


def test_a_database_that_stays_locked_is_waited_for_and_nothing_is_lost(chaos):
    """Another program holds SQLite's write lock for 8 seconds while two cells are measured."""
    chaos.user.extra_env[dying.BUSY_S] = "1"
    chaos.user.program = (dying.__file__,)
    process = chaos.user.start("matrix", "run", chaos.matrix(seconds=10, max_parallel=2))
    until(lambda: len(chaos.steps()) == 2)
    path = chaos.user.home / ".local/share/diskbench/diskbench.db"
    with closing(sqlite3.connect(path, timeout=60, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(subprocess.TimeoutExpired):
            process.communicate(timeout=8)
        other.execute("ROLLBACK")
    ended(process)
    chaos.all_done()


@pytest.fixture
def small_store(tmp_path):
    with tmpfs(tmp_path / "small", "1m") as directory:
        yield directory


def test_a_full_evidence_store_is_reported_and_waited_for(chaos, small_store):
    """The store is full while a step is measured, and has free space again later."""
    chaos.user.extra_env["DISKBENCH_EVIDENCE_URL"] = small_store.as_uri()
    process = chaos.user.start("matrix", "run", chaos.matrix(seconds=8))
    until(lambda: chaos.steps() == ["read"])
    filler = small_store / "filler"
    fill(filler)
    until(lambda: "No space left" in (chaos.cells()[0]["note"] or ""))
    filler.unlink()
    ended(process)
    chaos.all_done(evidence=small_store)


@pytest.mark.parametrize("fall", ["crash", "stop"])
def test_a_postgresql_that_restarts_costs_a_matrix_nothing(chaos, fall):
    """PostgreSQL crashes, or is stopped, while two cells are measured, and starts again."""
    with postgres_server() as server:
        chaos.user.extra_env["DISKBENCH_DATABASE_URL"] = server.url
        process = chaos.user.start("matrix", "run", chaos.matrix(seconds=12, max_parallel=2))
        until(lambda: measured(server.url) == 2, within_s=240)
        server.crash() if fall == "crash" else server.stop()
        with pytest.raises(subprocess.TimeoutExpired):
            process.communicate(timeout=5)
        server.start()
        ended(process)
        chaos.all_done(database_url=server.url)


def measured(url):
    engine = sa.create_engine(
        url.replace("postgresql://", "postgresql+psycopg://"), poolclass=sa.NullPool
    )
    query = sa.text("SELECT COUNT(*) FROM diskbench_progress WHERE tick IS NOT NULL")
    try:
        with engine.connect() as connection:
            return int(connection.execute(query).scalar_one())
    except sa.exc.ProgrammingError:  # the table is not made yet
        return 0


@pytest.fixture
def store(tmp_path):
    with filesystem(tmp_path / "store", 16) as directory:
        yield directory


@pytest.mark.parametrize("which", ["evidence", "database"])
def test_a_store_that_cannot_be_written_stops_a_run_before_it_rents(chaos, store, which):
    """The evidence store or the database's directory is read-only from the beginning: exit 2."""
    subprocess.run(["mount", "-o", "remount,ro", str(store)], check=True)
    url = store.as_uri() if which == "evidence" else f"sqlite:///{store}/rows.db"
    chaos.user.extra_env[f"DISKBENCH_{which.upper()}_URL"] = url
    assert str(store) in chaos.user.refused("matrix", "run", chaos.matrix()).stderr
    assert not list(chaos.place.glob("fake/resources/*"))


# The way to a host is cut, and a host dies, while its disk is measured.


def test_ssh_that_is_cut_hung_and_refused_costs_a_matrix_nothing(chaos, tmp_path):
    """SSH is cut, then hangs, then refuses connections while fio runs: no step is cut short."""
    target = tmp_path / "target"
    target.mkdir()
    with running_sshd(tmp_path / "sshd") as server, flaky_proxy(server.port) as proxy:
        over_ssh(chaos.user, server.config_block("box", port=proxy.port))
        file = chaos.matrix("ssh", host="box", path=str(target), seconds=12)
        process = chaos.user.start("matrix", "run", file)
        until(lambda: chaos.steps() == ["read"])
        for broken in (proxy.drop, proxy.hang, proxy.refuse):
            known = proxy.accepted
            broken()
            proxy.heal()
            until(lambda known=known: proxy.accepted > known)
        ended(process)
    books = chaos.books()
    assert (books.cells, books.done, books.rows, books.wrong) == (1, 1, 4, ())
    for run in chaos.user.json("results", "list")["runs"]:
        (shown,) = chaos.user.json("results", "show", run["run_id"], "--alone")["runs"]
        assert shown["steps"][1]["seconds_in_fio"] >= 12, "by fio's own words"
    assert list(target.iterdir()) == []


def test_a_host_that_dies_fails_only_its_own_cell(chaos, monkeypatch):
    """The host dies while fio runs: its cell has a reason, and nothing stays rented."""
    monkeypatch.setenv(VARIABLE, chaos.user.extra_env[VARIABLE])
    process = chaos.user.start("matrix", "run", chaos.matrix("lab", seconds=15))
    until(lambda: chaos.steps() == ["read"])
    (host,) = [path.name for path in (chaos.place / "lab").iterdir() if path.name[0] != "."]
    init = init_of(find_groups().of(host))
    os.kill(init, signal.SIGKILL)
    ended(process, 1)
    first, second = chaos.cells()
    assert (first["state"], second["state"]) == ("failed", "done")
    assert first["error"]
    books = chaos.books()
    assert (books.done, books.failed, books.wrong) == (1, 1, ())


def test_a_full_disk_fails_the_run_and_keeps_the_files_of_others(chaos, tmp_path):
    """Another user fills the measured filesystem while fio writes: the evidence is kept."""
    with filesystem(tmp_path / "disk", 256) as target:
        slow = "[write]\nrw=write\nbs=64k\nsize=32m\nrate=2m\nioengine=psync\nfallocate=none\n"
        process = chaos.user.start("run", "--path", str(target), "--profile", chaos.user.job(slow))
        until(lambda: bool(list(target.glob("diskbench-*/*"))), within_s=240)
        theirs = target / "theirs"
        free = shutil.disk_usage(target).free - 4 * 2**20
        subprocess.run(["fallocate", "-l", str(free), str(theirs)], check=True)
        rest = ["dd", "if=/dev/zero", f"of={theirs}", "bs=64k", "oflag=append", "conv=notrunc"]
        subprocess.run(rest, capture_output=True, check=False)
        size = theirs.stat().st_size
        assert "No space left" in ended(process, 1)
        assert {one.name for one in target.iterdir()} == {"theirs", "lost+found"}
        assert theirs.stat().st_size == size
        (run,) = chaos.user.json("results", "list")["runs"]
        assert run["state"] == "failed"
        kept = chaos.user.home / ".local/share/diskbench/evidence/runs" / run["run_id"]
        assert list(kept.glob("steps/*/step.json"))
