"""What a person types as an id, or the beginning of one, and what of others it must not reach."""

import json
from pathlib import Path

import pytest
from tests.rigs.cli import Cli, a_user
from tests.rigs.matrix_rows import campaign_row, cell_row
from tests.rigs.plans import make_plan, save_plan

from diskbench.model.ids import short
from diskbench.providers.fake.cloud import VARIABLE
from diskbench.store.campaigns import find_campaign, run_cells, save_campaign
from diskbench.store.database import open_database
from diskbench.store.leases import Lease, create_lease, list_leases
from diskbench.store.query import find_runs

ONE, TWO = "01kq8z6rj0aaaaaaaaaaaaaaa1", "01kq8z6rj1bbbbbbbbbbbbbbb1"
MATRICES = ("01kq8z6rhzaaaaaaaaaaaaaaa0", "01kq8z6rhzaaaaaaaaaaaaaaa1")
BEGINNING = "01kq"
NOTHING = ("", " ", "\t")
YOUNG = 4e9
"""A lease that has not expired, in Unix seconds."""


@pytest.fixture
def user(tmp_path: Path) -> Cli:
    made = a_user(tmp_path)
    made.extra_env = {VARIABLE: str(tmp_path / "cloud"), "DISKBENCH_OWNER": "alice@desk"}
    made.extra_env["DISKBENCH_DATABASE_URL"] = f"sqlite:///{tmp_path}/rows.db"
    return made


def database(user: Cli):
    return open_database(user.extra_env["DISKBENCH_DATABASE_URL"])


def rented(
    user: Cli,
    lease: str,
    *,
    owner: str | None = "bob@laptop",
    expires: float | None = YOUNG,
    name: str | None = None,
) -> Path:
    called = name or f"diskbench-{lease}-disk"
    made = Path(user.extra_env[VARIABLE]) / "resources" / called
    made.mkdir(parents=True)
    tags: dict[str, object] = {"diskbench-lease": lease, "zone": "fake-1a"}
    tags |= {} if expires is None else {"diskbench-expires": expires}
    tags |= {} if owner is None else {"diskbench-owner": owner}
    (made / "tags.json").write_text(json.dumps(tags))
    return made


def two_runs(user: Cli) -> None:
    """Two trials that nobody works on, of one run each, with ids that begin alike."""
    for run_id, campaign_id in zip((ONE, TWO), MATRICES, strict=True):
        plan = make_plan((run_id,), campaign_id=campaign_id)
        lease = Lease(lease_id=run_id, provider="ssh", run_ids=(run_id,))
        save_plan(database(user), plan, "file:///e", owner="gone", lease=lease)


COMMANDS = [
    *("gc", "cancel", "resume", "report", "compare last", "results show", "results export"),
    *("results prune --keep 0s --yes", "results delete --yes", "matrix status", "matrix cancel"),
    *("matrix resume", "matrix retry --failed"),
]
EVERY = pytest.mark.parametrize("command", COMMANDS)


def typed(user: Cli, command: str, text: str):
    """The command with an id in a database of two that it could mean; neither may change."""
    if not command.startswith("matrix"):
        two_runs(user)
    for campaign_id in (ONE, TWO) if command.startswith("matrix") else ():
        row = campaign_row(campaign_id=campaign_id, name=f"matrix {campaign_id[-3:]}", queue="q")
        save_campaign(database(user), row, [cell_row(0, campaign_id=campaign_id)])
    before = standing(user)
    done = user.call_refused(*command.split(), text)
    assert standing(user) == before, "something was changed"
    assert "Traceback" not in done.stderr
    return done


def standing(user: Cli) -> object:
    from diskbench.store.campaigns import list_campaigns

    kept = database(user)
    return (
        [row.run_id for row in find_runs(kept)],
        [(one.lease_id, one.state) for one in list_leases(kept)],
        [(one.trial_id, one.cancel) for one in run_cells(kept)],
        [(one.campaign_id, one.state) for one in list_campaigns(kept)],
    )


@EVERY
def test_a_beginning_that_fits_two_things_is_refused(user: Cli, command: str) -> None:
    """Every command that takes an id: both are named with kind, place and age."""
    done = typed(user, command, BEGINNING)
    assert done.returncode == 2, done.stderr
    # Both trials are parts of matrices whose ids begin so, too; what is listed are the wholes.
    of_matrices = command.startswith(("results ", "report", "compare"))
    for one in MATRICES if of_matrices else (ONE, TWO):
        assert one in done.stderr
    assert " old" in done.stderr


@EVERY
def test_an_empty_id_means_nothing(user: Cli, command: str) -> None:
    """Every command that takes an id is given an empty one, a space, a tab: exit 2."""
    for text in NOTHING:
        done = user.call_refused(*command.split(), text) if text else typed(user, command, text)
        assert done.returncode == 2, (text, done.stderr)
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize("text", NOTHING)
def test_an_empty_id_does_not_mean_the_only_thing_there_is(user: Cli, text: str) -> None:
    """With one single lease, run and matrix in the database, an empty id is given: exit 2."""
    create_lease(database(user), Lease(lease_id=ONE, provider="fake", expires_at="2036"))
    row = campaign_row(campaign_id=TWO, queue="q")
    save_campaign(database(user), row, [cell_row(0, campaign_id=TWO)])
    assert user.call("gc", text).returncode == 2
    assert user.call("matrix", "cancel", text).returncode == 2
    (lease,) = list_leases(database(user))
    assert lease.state == "open"
    assert find_campaign(database(user), TWO).state == "running"


def test_a_beginning_of_a_cell_and_of_a_run_is_refused_by_cancel(user: Cli) -> None:
    """The beginning that is typed fits a cell of a matrix and another trial: both are named."""
    two_runs(user)
    row = campaign_row(campaign_id=MATRICES[0], queue="q")
    cell = cell_row(0, campaign_id=row.campaign_id, trial_id=ONE, state="measuring", owner="e1")
    save_campaign(database(user), row, [cell])
    done = user.call("cancel", BEGINNING)
    assert done.returncode == 2
    assert ONE in done.stderr
    assert TWO in done.stderr
    assert not any(one.cancel for one in run_cells(database(user)))


def test_a_full_id_is_exact(user: Cli) -> None:
    """A full id is typed that is the beginning of another id, also in capitals, with spaces."""
    for name in ("01kq", "01kq8z"):
        create_lease(database(user), Lease(lease_id=name, provider="fake"))
    user.called("gc", " 01KQ ")
    states = {one.lease_id: one.state for one in list_leases(database(user))}
    assert states == {"01kq": "released", "01kq8z": "open"}


def gc(user: Cli, *words: str):
    return user.call("gc", "--provider", "fake", *words)


@pytest.mark.parametrize("text", ["0", BEGINNING, "01kq8z6rj"])
def test_a_beginning_ends_no_machines_of_other_databases(user: Cli, text: str) -> None:
    """Gc --provider from an empty database with a beginning of two running leases of others."""
    left = [rented(user, one) for one in (ONE, TWO)]
    done = gc(user, text)
    assert done.returncode == 2, done.stdout
    assert ONE in done.stderr
    assert TWO in done.stderr
    assert all(one.exists() for one in left)


def test_a_lease_of_another_database_needs_its_full_id(user: Cli) -> None:
    """Gc --provider with a beginning that fits one lease of another database: it is described."""
    left = rented(user, ONE, owner="alice@desk")
    done = gc(user, ONE[:-1])
    assert done.returncode == 2, done.stdout
    for told in (ONE, "alice@desk", " old"):
        assert told in done.stderr
    assert left.exists()
    assert gc(user, ONE).returncode == 0
    assert not left.exists()


@pytest.mark.parametrize(
    ("owner", "expires"), [("bob@laptop", YOUNG), (None, YOUNG), ("bob@laptop", None)]
)
def test_an_unexpired_lease_of_another_owner_needs_not_mine(
    user: Cli, owner: str | None, expires: float | None
) -> None:
    """Gc --provider with the full id of another's lease, of one without owner or expiry."""
    young = rented(user, ONE, owner=owner, expires=expires)
    old = rented(user, TWO, owner=owner, expires=1.0)
    done = gc(user, ONE)
    assert done.returncode == 2, done.stdout
    assert (owner or "no owner") in done.stderr
    assert "--not-mine" in done.stderr
    assert young.exists()
    assert gc(user, TWO).returncode == 0
    assert not old.exists()
    assert gc(user, "--not-mine", ONE).returncode == 0
    assert not young.exists()


def test_one_refused_id_stops_all_ids_of_the_command(user: Cli) -> None:
    """Gc --provider with a full id of one's own lease and a refused id of another's: exit 2."""
    create_lease(database(user), Lease(lease_id=ONE, provider="fake", expires_at="2036"))
    mine, theirs = rented(user, ONE, owner="alice@desk"), rented(user, TWO)
    done = gc(user, ONE, TWO)
    assert done.returncode == 2, done.stdout
    assert mine.exists()
    assert theirs.exists()


def test_not_mine_alone_is_refused(user: Cli) -> None:
    """--not-mine without a full id: exit 2: it does not select the leases of all users."""
    left = rented(user, ONE)
    for words in (("--not-mine",), ("--not-mine", ONE[:-1])):
        assert gc(user, *words).returncode == 2
    assert user.call("gc", "--not-mine").returncode == 2
    assert left.exists()


COPIES = pytest.mark.parametrize(
    "name", ["prod-database", f"diskbench-{TWO}-disk", f"x-{ONE}-disk"]
)


@COPIES
def test_tags_copied_by_hand_make_nothing_ours(user: Cli, name: str) -> None:
    """Another resource has the tags of an expired lease, copied by hand: gc lists it as that."""
    copied = rented(user, ONE, expires=1.0, name=name)
    made = rented(user, ONE, expires=1.0)
    done = gc(user)
    assert done.returncode == 0, done.stderr
    assert "carries our tags, but is not ours" in done.stdout
    assert name in done.stdout
    assert copied.exists()
    assert not made.exists()


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_copy_is_listed_beside_a_lease_of_ones_own(user: Cli, dry_run: bool) -> None:
    """Gc --provider where a lease of this database ended whose tags were copied by hand."""
    create_lease(database(user), Lease(lease_id=ONE, provider="fake", expires_at="2026-01-01"))
    copied, made = rented(user, ONE, name="prod-database"), rented(user, ONE)
    done = gc(user, "--output", "json", *(["--dry-run"] if dry_run else []))
    assert done.returncode == 0, done.stderr
    told = {one["copied"]: one for one in json.loads(done.stdout)["leases"]}
    assert told[False]["outcome"] == ("would-give-back" if dry_run else "gave-back")
    assert (told[True]["outcome"], told[True]["in_database"]) == ("kept", True)
    assert told[True]["resources"] == ["prod-database"]
    assert (copied.exists(), made.exists()) == (True, dry_run)


def test_what_status_advises_shows_the_abandoned_run(user: Cli) -> None:
    """Status shows a lease that no process uses, and names gc --dry-run: that is called."""
    plan = make_plan((ONE,))
    lease = Lease(
        lease_id=ONE, provider="ssh", run_ids=(ONE,), expires_at="2096-01-01T00:00:00+00:00"
    )
    save_plan(database(user), plan, "file:///e", owner="gone", lease=lease)
    assert "diskbench gc --dry-run" in user.call("status").stdout
    done = user.called("gc", "--dry-run")
    assert "resume with 'diskbench resume'" in done.stderr
    assert f"diskbench gc {short(plan.trial_id)}" in done.stderr
