"""What was bought for a run: columns of its row, of every export and of every frame."""

import io
import json
from datetime import UTC, datetime, timedelta
from functools import partial

import polars as pl
import pytest
import sqlalchemy as sa
from tests.rigs.matrix_rows import CAMPAIGN, campaign_row, cell_row
from tests.rigs.plans import make_plan
from tests.rigs.replicates import measured

import diskbench
from diskbench.errors import UnknownName
from diskbench.model import run as nouns
from diskbench.model.facts import CloudFacts
from diskbench.model.options import RentSpec
from diskbench.model.rental import DiskSpec, Rental, Scope
from diskbench.model.run import AFTER_CLIFF, MEASURED_FIELDS, RUN_FIELDS
from diskbench.providers.azure.plugin import AzureOptions
from diskbench.store import schema
from diskbench.store.campaigns import save_campaign, spent_by
from diskbench.store.database import transaction
from diskbench.store.dialects import insert_missing, iso
from diskbench.store.document import results_document
from diskbench.store.export import csv_text, json_text, parquet_pieces
from diskbench.store.leases import Lease, insert_leases
from diskbench.store.machines import MachineRecord
from diskbench.store.query import find_measurements, find_runs
from diskbench.store.run_row import COLUMNS, bought, bought_by_others, run_row
from diskbench.store.where import parse_filter


def rented(provider, disk, *, cloud=None, region="eu-central-1", cache=None, zone="eu-central-1a"):
    """A plan whose machine and disk were rented."""
    spec = RentSpec(disk=disk.type, size_gib=disk.size_gib, azure=AzureOptions(cache=cache))
    scope, plan = Scope(provider=provider, region=region), make_plan()
    rental = Rental(scope=scope, spec=spec, cloud=cloud, offer="x", disk=disk)
    facts = plan.facts.model_copy(update={"cloud": CloudFacts(zone=zone, instance_type="m")})
    cell = plan.cell.model_copy(update={"provider": provider, "rent": spec})
    return plan.model_copy(update={"rental": rental, "facts": facts, "cell": cell})


GP3 = DiskSpec(type="gp3", size_gib=100, iops=4000, throughput_mib_per_s=250)
PREMIUM = DiskSpec(type="PremiumV2_LRS", size_gib=8, iops=3000, throughput_mib_per_s=125)
TWO = DiskSpec(type="gp2", size_gib=20, count=2)
WEST = {"region": "westeurope", "cache": "ReadOnly", "zone": "1"}
RENTED = [
    (rented("aws", GP3),
     ("eu-central-1", "eu-central-1a", "m", "aws", "gp3", 100, 1, 4000, 250 * 2**20, None)),
    (rented("azure", PREMIUM, **WEST),
     ("westeurope", "1", "m", "azure", "PremiumV2_LRS", 8, 1, 3000, 125e6, "readonly")),
    (rented("lab", TWO, cloud="aws", region=None),
     (None, "eu-central-1a", "m", "aws", "gp2", 20, 2, None, None, None)),
]  # fmt: skip


@pytest.mark.parametrize(("plan", "values"), RENTED)
def test_what_was_rented_is_in_the_row_with_throughput_in_bytes(plan, values):
    assert bought(plan) == dict(zip(COLUMNS, values, strict=True))
    row = run_row(plan, 0, "file:///e")
    assert tuple(row[name] for name in COLUMNS) == values


def there(**cloud):
    """What is known of a machine that was not rented."""
    plan = make_plan()
    facts = plan.facts.model_copy(update={"cloud": CloudFacts(**cloud)})
    return bought(plan.model_copy(update={"facts": facts}))


def test_a_machine_that_was_there_tells_its_region_and_no_disk_type():
    found = there(vendor="aws", zone="us-west-2b", instance_type="i4i.large")
    assert (found["region"], found["zone"]) == ("us-west-2", "us-west-2b")
    assert (found["disk_type"], found["disk_gib"]) == (None, None)


def test_a_region_is_told_only_where_the_zone_names_it():
    for cloud, zone, region in [
        *(("aws", "eu-central-1a", "eu-central-1"), ("aws", "us-gov-west-1c", "us-gov-west-1")),
        *(("gcp", "europe-west3-b", "europe-west3"), ("aws", "us-west-2-lax-1a", "us-west-2")),
        *(("azure", "1", None), (None, "eu-central-1a", None), ("aws", None, None)),
    ]:
        assert there(vendor=cloud, zone=zone)["region"] == region


def test_an_import_has_what_was_said_of_its_disk():
    labels = {"as_disk": "azure:Premium_LRS:256:cache=readonly", "as_machine": "Standard_D4s_v3"}
    found = bought_by_others(labels)
    assert found["disk_type"] == "Premium_LRS"
    assert (found["disk_gib"], found["host_cache"]) == (256, "readonly")
    assert found["instance_type"] == "Standard_D4s_v3"
    assert bought_by_others({"as_disk": "nonsense"})["disk_type"] is None
    assert set(bought_by_others({})) == set(COLUMNS)


@pytest.fixture
def two_disks(database):
    measured(database, [3000.0, 3010.0], disk="gp2")
    measured(database, [9000.0], disk="gp3", campaign=1)
    return str(database.url), database


FOUND = {
    "disk=gp2": 2, "disk_type=gp3": 1, "disk~gp": 3, "disk!=gp2": 1, "region=eu-central-1": 3,
    "region=": 0, "size=20": 3, "size>20": 0, "instance=m7i.large": 3, "cache=": 3,
    "date>=2000-01-01": 3, "disk_count=1": 3,
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("text", "count"), FOUND.items())
def test_runs_are_selected_by_what_was_bought(two_disks, text, count):
    assert len(find_runs(two_disks[1], [parse_filter(text)])) == count


def test_where_nothing_is_known_of_a_disk_its_label_says_it(database):
    measured(database, [1.0], disk="gp2", rented=False, labels=(("disk", "gp3"),))
    measured(database, [2.0], disk="gp2", labels=(("disk", "gp3"),), campaign=1)
    assert len(find_runs(database, [parse_filter("disk=gp3")])) == 1
    assert len(find_runs(database, [parse_filter("disk=gp2")])) == 1
    assert len(find_runs(database, [parse_filter("label.disk=gp3")])) == 2


def test_every_key_stands_for_a_column_and_every_column_is_a_key():
    for column, example, _ in nouns.KEYS.values():
        assert parse_filter(example).field == column
    for name in [*RUN_FIELDS, *MEASURED_FIELDS]:
        if name not in ("labels", "parameters", "job_error"):
            assert parse_filter(f"{name}=").field == nouns.COLUMN_OF.get(name, name)


def test_every_export_and_frame_has_them(two_disks):
    url, database = two_disks
    assert set(COLUMNS) <= set(RUN_FIELDS)
    found = find_measurements(database, [parse_filter("disk=gp2")])
    rows = [
        {**nouns.run_columns(one.run), **nouns.own_columns(one), AFTER_CLIFF: None} for one in found
    ]
    frame = pl.read_csv(io.StringIO(csv_text(rows, (*RUN_FIELDS, *MEASURED_FIELDS, AFTER_CLIFF))))
    assert frame["disk_type"].to_list() == ["gp2", "gp2"]
    frame = pl.read_parquet(io.BytesIO(b"".join(parquet_pieces(rows))))
    assert frame.schema["disk_gib"] == pl.Int64
    assert frame.schema["provisioned_bytes_per_s"] == pl.Float64
    assert frame["region"].to_list() == ["eu-central-1"] * 2
    document = json.loads(json_text(results_document(find_runs(database))))
    assert {run["disk_type"] for run in document["runs"]} == {"gp2", "gp3"}
    assert set(COLUMNS) <= set(diskbench.load_runs(database=url).columns)
    rows = diskbench.load_measurements(database=url)
    assert rows["disk_type"].to_list() == ["gp2", "gp2", "gp3"]
    assert rows.schema["disk_gib"] == pl.Int64
    assert diskbench.load_measurements("disk=gp3", database=url)["iops"].to_list() == [9000.0]
    assert set(COLUMNS) <= set(diskbench.load_expected(database=url).columns)


@pytest.mark.parametrize("named", ["nosuch", ["nosuch"], "disk=nosuch", ["last", "nosuch"]])
def test_a_run_that_is_not_there_is_no_empty_frame(two_disks, named, tmp_path):
    url, _ = two_disks
    verdicts = partial(diskbench.load_verdicts, evidence=(tmp_path / "evidence").as_uri())
    for load in (diskbench.load_measurements, diskbench.load_expected, verdicts):
        with pytest.raises(UnknownName, match="nosuch"):
            load(named, database=url)


# What a matrix cost, by the formula of catalog/cost.py.


NOW = datetime.now(UTC)
ASSUMED = 0.25


@pytest.mark.parametrize(("assumed", "unknown_usd"), [(None, 0.0), (ASSUMED, 2 * ASSUMED)])
def test_a_trial_costs_its_hours_or_what_its_cell_says_if_more(any_database, assumed, unknown_usd):
    """Five trials of 2 h: one at work, three that are over, and an earlier attempt of no cell."""
    prices = {"at-work": 3.0, "over": 3.0, "dearer": 3.0, "unknown": None, "earlier": 3.0}
    ends = {"over": 5.0, "dearer": 7.5, "unknown": None}
    cells = [cell_row(0, state="measuring", trial_id="at-work"), cell_row(1)]
    for name, usd in ends.items():
        over = {"state": "done", "finished_at": iso(NOW), "cost_usd": usd}
        cells.append(cell_row(len(cells), trial_id=name, **over))
    save_campaign(any_database, campaign_row(), cells)
    with transaction(any_database) as connection:
        for name, price in prices.items():
            trial = {"trial_id": name, "campaign_id": CAMPAIGN, "replicate": 0}
            connection.execute(sa.insert(schema.trial).values(**trial))
            insert_leases(connection, [lease_of(name, 2).model_copy(update={"hourly_usd": price})])
    over, live = spent_by(any_database, CAMPAIGN, assumed)
    assert over == pytest.approx(6.0 + 7.5 + unknown_usd + 6.0, abs=0.01)
    assert live == {"at-work": pytest.approx(6.0, abs=0.01)}


OF_AWS = Rental(scope=Scope(provider="aws"), spec=RentSpec(), offer="a machine")


def lease_of(lease_id, hours):
    """A lease of so many hours that was given back, without a known price."""
    began, ended = (iso(NOW - timedelta(hours=ago)) for ago in (100, 100 - hours))
    return Lease(
        lease_id=lease_id, provider="aws", created_at=began, state="released", released_at=ended
    )


def save_turn(connection, trial_id, machine_id):
    """A trial on a shared machine, with two runs."""
    trial = {"trial_id": trial_id, "campaign_id": CAMPAIGN, "replicate": 0}
    connection.execute(sa.insert(schema.trial).values(**trial))
    own = {"trial_id": trial_id, "campaign_id": CAMPAIGN, "machine_lease": machine_id}
    for index in range(2):
        run = run_row(make_plan((f"{trial_id}{index}",)), 0, "file:///e")
        insert_missing(connection, schema.run, [{**run, **own, "run_index": index}])


def test_shared_machines_cost_what_they_stood_idle(any_database):
    """Three machines of 60 h: one had no trial, one had two of 10 h, one a trial dearer than it."""
    save_campaign(any_database, campaign_row(), [cell_row(0)])
    with transaction(any_database) as connection:
        for m, turns in enumerate(((), (10, 10), (70,))):
            machine_id = f"01kq8z6rhm{m:016d}"
            insert_leases(connection, [lease_of(machine_id, 60)])
            record = MachineRecord(
                lease_id=machine_id, campaign_id=CAMPAIGN, name=f"m{m}", trial_id="t", rental=OF_AWS
            )
            insert_missing(connection, schema.machine, [record.model_dump(mode="json")])
            for t, hours in enumerate(turns):
                trial_id = f"01kq8z6rht{m:08d}{t:08d}"
                insert_leases(connection, [lease_of(trial_id, hours)])
                save_turn(connection, trial_id, machine_id)
    over, live = spent_by(any_database, CAMPAIGN, ASSUMED)
    assert (over, live) == (pytest.approx(ASSUMED * ((10 + 10 + 70) + 60 + 60 - 20), abs=0.01), {})


def test_a_matrix_without_trials_cost_nothing(any_database):
    save_campaign(any_database, campaign_row(), [cell_row(0)])
    assert spent_by(any_database, CAMPAIGN, None) == (0.0, {})
