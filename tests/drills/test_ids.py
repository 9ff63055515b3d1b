"""What a person types as an id, or the beginning of one, and what of others it must not reach."""

import json
from functools import cache
from pathlib import Path

import pytest
from tests.rigs.cli import a_user
from tests.rigs.matrix_rows import campaign_row, cell_row
from tests.rigs.plans import make_plan, save_plan

from diskbench.model.ids import short
from diskbench.providers.fake.cloud import VARIABLE
from diskbench.store.campaigns import find_campaign, list_campaigns, run_cells, save_campaign
from diskbench.store.database import open_database
from diskbench.store.leases import Lease, create_lease, list_leases
from diskbench.store.query import find_runs

ONE, TWO = "01kq8z6rj0aaaaaaaaaaaaaaa1", "01kq8z6rj1bbbbbbbbbbbbbbb1"
MATRICES = ("01kq8z6rhzaaaaaaaaaaaaaaa0", "01kq8z6rhzaaaaaaaaaaaaaaa1")
BEGINNING = "01kq"
NOTHING = ("", " ", "\t")
YOUNG = 4e9
"""A lease that has not expired, in Unix seconds."""


def made(place):
    made = a_user(place, DISKBENCH_DATABASE_URL=f"sqlite:///{place}/rows.db")
    made.extra_env |= {VARIABLE: str(place / "cloud"), "DISKBENCH_OWNER": "alice@desk"}
    return made


@pytest.fixture
def user(tmp_path):
    return made(tmp_path)


def database(user):
    return open_database(user.extra_env["DISKBENCH_DATABASE_URL"])


def rented(user, lease, *, owner="bob@laptop", expires=YOUNG, name=""):
    made = Path(user.extra_env[VARIABLE]) / "resources" / (name or f"diskbench-{lease}-disk")
    made.mkdir(parents=True)
    tags: dict[str, object] = {"diskbench-lease": lease, "zone": "fake-1a"}
    tags |= {} if expires is None else {"diskbench-expires": expires}
    tags |= {} if owner is None else {"diskbench-owner": owner}
    (made / "tags.json").write_text(json.dumps(tags))
    return made


def two_runs(user):
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


@pytest.fixture(scope="module")
def crowded(tmp_path_factory):
    """A user whose database has two runs, or two matrices, that a command's id could mean."""

    @cache
    def of(matrices):
        user = made(tmp_path_factory.mktemp("crowded"))
        if not matrices:
            two_runs(user)
        for campaign_id in (ONE, TWO) if matrices else ():
            named = {"campaign_id": campaign_id, "name": f"matrix {campaign_id[-3:]}"}
            cell = cell_row(0, campaign_id=campaign_id)
            save_campaign(database(user), campaign_row(queue="q", **named), [cell])
        return user

    return lambda command: of(command.startswith("matrix"))


def standing(user):
    kept = database(user)
    return (
        [row.run_id for row in find_runs(kept)],
        [(one.lease_id, one.state) for one in list_leases(kept)],
        [(one.trial_id, one.cancel) for one in run_cells(kept)],
        [(one.campaign_id, one.state) for one in list_campaigns(kept)],
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_a_beginning_that_fits_two_things_and_an_empty_id_are_refused(crowded, command):
    """Every command that takes an id: both are named with kind, place and age; of an empty id, a
    space or a tab it is exit 2; nothing is changed."""
    user = crowded(command)
    before = standing(user)
    done = user.refused(*command.split(), BEGINNING)
    # Both trials are parts of matrices whose ids begin so, too; what is listed are the wholes.
    of_matrices = command.startswith(("results ", "report", "compare"))
    for one in MATRICES if of_matrices else (ONE, TWO):
        assert one in done.stderr
    assert " old" in done.stderr
    for text in NOTHING:
        user.refused(*command.split(), text)
    assert standing(user) == before


@pytest.mark.parametrize("text", NOTHING)
def test_an_empty_id_does_not_mean_the_only_thing_there_is(user, text):
    """With one single lease, run and matrix in the database, an empty id is given: exit 2."""
    create_lease(database(user), Lease(lease_id=ONE, provider="fake", expires_at="2036"))
    row = campaign_row(campaign_id=TWO, queue="q")
    save_campaign(database(user), row, [cell_row(0, campaign_id=TWO)])
    user.refused("gc", text)
    user.refused("matrix", "cancel", text)
    (lease,) = list_leases(database(user))
    assert lease.state == "open"
    assert find_campaign(database(user), TWO).state == "running"


def test_a_beginning_of_a_cell_and_of_a_run_is_refused_by_cancel(user):
    """The beginning that is typed fits a cell of a matrix and another trial: both are named."""
    two_runs(user)
    row = campaign_row(campaign_id=MATRICES[0], queue="q")
    cell = cell_row(0, campaign_id=row.campaign_id, trial_id=ONE, state="measuring", owner="e1")
    save_campaign(database(user), row, [cell])
    done = user.refused("cancel", BEGINNING)
    assert all(one in done.stderr for one in (ONE, TWO))
    assert not any(one.cancel for one in run_cells(database(user)))


def test_a_full_id_is_exact(user):
    """A full id is typed that is the beginning of another id, also in capitals, with spaces."""
    for name in ("01kq", "01kq8z"):
        create_lease(database(user), Lease(lease_id=name, provider="fake"))
    user.called("gc", " 01KQ ")
    states = {one.lease_id: one.state for one in list_leases(database(user))}
    assert states == {"01kq": "released", "01kq8z": "open"}


def gc(user, *words, code=0):
    done = user.call("gc", "--provider", "fake", *words)
    assert done.returncode == code, done.stderr
    return done


@pytest.mark.parametrize("text", ["0", BEGINNING, "01kq8z6rj"])
def test_a_beginning_ends_no_machines_of_other_databases(user, text):
    """Gc --provider from an empty database with a beginning of two running leases of others."""
    left = [rented(user, one) for one in (ONE, TWO)]
    done = gc(user, text, code=2)
    assert all(one in done.stderr for one in (ONE, TWO))
    assert all(one.exists() for one in left)


def test_a_lease_of_another_database_needs_its_full_id(user):
    """Gc --provider with a beginning that fits one lease of another database: it is described."""
    left = rented(user, ONE, owner="alice@desk")
    done = gc(user, ONE[:-1], code=2)
    assert all(told in done.stderr for told in (ONE, "alice@desk", " old"))
    assert left.exists()
    gc(user, ONE)
    assert not left.exists()


@pytest.mark.parametrize(
    ("owner", "expires"), [("bob@laptop", YOUNG), (None, YOUNG), ("bob@laptop", None)]
)
def test_an_unexpired_lease_of_another_owner_needs_not_mine(user, owner, expires):
    """Gc --provider with the full id of another's lease, of one without owner or expiry."""
    young = rented(user, ONE, owner=owner, expires=expires)
    old = rented(user, TWO, owner=owner, expires=1.0)
    done = gc(user, ONE, code=2)
    assert (owner or "no owner") in done.stderr
    assert "--not-mine" in done.stderr
    assert young.exists()
    gc(user, TWO)
    assert not old.exists()
    gc(user, "--not-mine", ONE)
    assert not young.exists()


def test_one_refused_id_stops_all_ids_of_the_command(user):
    """Gc --provider with a full id of one's own lease and a refused id of another's: exit 2."""
    create_lease(database(user), Lease(lease_id=ONE, provider="fake", expires_at="2036"))
    mine, theirs = rented(user, ONE, owner="alice@desk"), rented(user, TWO)
    gc(user, ONE, TWO, code=2)
    assert mine.exists()
    assert theirs.exists()


def test_not_mine_alone_is_refused(user):
    """--not-mine without a full id: exit 2: it does not select the leases of all users."""
    left = rented(user, ONE)
    for words in (("--not-mine",), ("--not-mine", ONE[:-1])):
        gc(user, *words, code=2)
    user.refused("gc", "--not-mine")
    assert left.exists()


@pytest.mark.parametrize("name", ["prod-database", f"diskbench-{TWO}-disk", f"x-{ONE}-disk"])
def test_tags_copied_by_hand_make_nothing_ours(user, name):
    """Another resource has the tags of an expired lease, copied by hand: gc lists it as that."""
    copied = rented(user, ONE, expires=1.0, name=name)
    made = rented(user, ONE, expires=1.0)
    done = gc(user)
    assert "carries our tags, but is not ours" in done.stdout
    assert name in done.stdout
    assert copied.exists()
    assert not made.exists()


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_copy_is_listed_beside_a_lease_of_ones_own(user, dry_run):
    """Gc --provider where a lease of this database ended whose tags were copied by hand."""
    create_lease(database(user), Lease(lease_id=ONE, provider="fake", expires_at="2026-01-01"))
    copied, made = rented(user, ONE, name="prod-database"), rented(user, ONE)
    done = gc(user, "--output", "json", *(["--dry-run"] if dry_run else []))
    told = {one["copied"]: one for one in json.loads(done.stdout)["leases"]}
    assert told[False]["outcome"] == ("would-give-back" if dry_run else "gave-back")
    assert (told[True]["outcome"], told[True]["in_database"]) == ("kept", True)
    assert told[True]["resources"] == ["prod-database"]
    assert (copied.exists(), made.exists()) == (True, dry_run)


def test_what_status_advises_shows_the_abandoned_run(user):
    """Status shows a lease that no process uses, and names gc --dry-run: that is called."""
    plan, until = make_plan((ONE,)), "2096-01-01T00:00:00+00:00"
    lease = Lease(lease_id=ONE, provider="ssh", run_ids=(ONE,), expires_at=until)
    save_plan(database(user), plan, "file:///e", owner="gone", lease=lease)
    assert "diskbench gc --dry-run" in user.call("status").stdout
    done = user.called("gc", "--dry-run")
    assert "resume with 'diskbench resume'" in done.stderr
    assert f"diskbench gc {short(plan.trial_id)}" in done.stderr


PAST, FUTURE = "2020-01-01T00:00:00.000000+00:00", "2999-01-01T00:00:00.000000+00:00"


def left(user, lease_id, expires_at):
    """A machine of the fake cloud whose run was killed."""
    lease = Lease(lease_id=lease_id, provider="fake", expires_at=expires_at)
    create_lease(database(user), lease)
    return rented(user, lease_id, owner="alice@desk", expires=1.0)


def states(user):
    return {one.lease_id: one.state for one in list_leases(database(user))}


@pytest.mark.parametrize(
    "command", [("status",), ("results", "list"), ("matrix", "status", "--all")], ids=" ".join
)
def test_a_command_that_reads_gives_back_what_expired(user, command):
    """A killed run's lease expires; a command that only reads says what it gave back on stderr."""
    old, young = left(user, ONE, PAST), left(user, TWO, FUTURE)
    done = user.done(*command)
    assert ONE in done.stderr
    assert ONE not in done.stdout or command == ("status",)
    assert not old.exists()
    assert young.exists()
    assert states(user) == {ONE: "released", TWO: "open"}


def test_what_could_not_be_given_back_does_not_hold_up_every_command(user):
    """A lease cannot be given back: the first command says why, the next ones do not wait."""
    create_lease(database(user), Lease(lease_id=ONE, provider="gone", expires_at=PAST))
    first, second = user.run("status"), user.run("status")
    assert (first.returncode, second.returncode) == (0, 0)
    assert "error" in first.stderr
    assert second.stderr == ""
    (lease,) = list_leases(database(user))
    assert (lease.state, bool(lease.error)) == ("open", True)
