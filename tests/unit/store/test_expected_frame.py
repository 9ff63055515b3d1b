"""`diskbench.load_expected`, and what `load_runs` says was rented: by the plans of the example."""

import polars as pl
import pytest
from tests.rigs.api_page import documented
from tests.rigs.plans import make_plan

import diskbench
from diskbench.store.rows import save_plan

pytestmark = pytest.mark.slow  # unpacks the example data


@pytest.fixture(scope="module")
def database(example):
    return example.database


@pytest.fixture(scope="module")
def runs(database):
    return diskbench.load_runs(database=database)


def test_columns_are_those_of_the_page_also_of_nothing(database, tmp_path):
    for url in (database, f"sqlite:///{tmp_path}/new.db"):
        frame = diskbench.load_expected(database=url)
        assert {name: str(kind) for name, kind in frame.schema.items()} == documented(
            "load_expected"
        )


def test_a_burst_is_foreseen_with_the_credit_that_the_fill_leaves(database, runs):
    disk = (pl.col("disk_type") == "gp2") & (pl.col("disk_gib") == 100)
    [run_id] = runs.filter(disk)["run_id"]
    burst = diskbench.load_expected(run_id, database=database).filter(step="burst")
    assert burst.select("begin_iops", "lasting_iops").row(0) == (3000, 300)
    full_s = 5_400_000 / 15 / (3000 - 300)
    assert full_s * 0.98 < burst["lasts_s"][0] < full_s
    assert burst["limited_by"][0] == "disk IOPS"


def test_runs_can_be_named_and_none_is_none(database, runs):
    two = runs["run_id"][:2].to_list()
    assert set(diskbench.load_expected(two, database=database)["run_id"]) == set(two)
    assert diskbench.load_expected([], database=database).height == 0


def test_runs_say_what_was_rented_for_them(runs):
    io1 = runs.filter(disk_type="io1")
    rented = io1.select("disk_cloud", "disk_gib", "disk_count", "provisioned_iops").unique()
    assert rented.rows() == [("aws", 20, 1, 1000)]
    assert runs["region"].null_count() == runs.height, "the lab is nowhere"


def test_what_was_rented_is_read_on_every_database(any_database):
    save_plan(any_database, make_plan(), "memory://")
    url = any_database.url.render_as_string(hide_password=False)
    runs = diskbench.load_runs(database=url)
    assert runs.height == 2
    assert runs["disk_type"].to_list() == [None, None], "a machine that was there"
    assert diskbench.load_expected(database=url).height == 0
