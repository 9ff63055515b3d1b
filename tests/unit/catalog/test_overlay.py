"""What was refreshed lies over the shipped files; a provider of its own brings its catalogue."""

import json
import os
import subprocess
import sys

import pytest
from pydantic import ValidationError
from tests.books import SHIPPED

from diskbench.catalog.books import Books, Overlay
from diskbench.catalog.cost import address_part, disk_part, machine_part
from diskbench.catalog.machine import machine_of
from diskbench.catalog.shipped import PRICES
from diskbench.errors import InvalidValue
from diskbench.model.rental import DiskSpec
from diskbench.results.refreshed_catalogue import read_overlays, write_overlay

SOURCE = {"title": "an API", "as_of": "2026-11-20"}
FASTER = {
    "sources": {"refreshed": SOURCE},
    "types": {"c4.xlarge": {"iops": 7000, "source": "refreshed"}},
}


def overlay(patch):
    return Overlay(
        cloud="aws", region="us-east-1", made_on="2026-11-20", patches={"machines.yaml": patch}
    )


def test_the_digest_says_what_lies_over_the_shipped_catalogue_which_has_none():
    assert Books().digest is None
    one = Books((overlay(FASTER),)).digest
    slower = {**FASTER, "types": {"c4.xlarge": {"iops": 1, "source": "refreshed"}}}
    assert one is not None
    assert Books((overlay(slower),)).digest not in (None, one)
    assert Books((overlay(FASTER),)).digest == one


def test_neither_a_file_that_no_session_patches_nor_another_format_is_taken(tmp_path):
    with pytest.raises(ValidationError, match=r"limits\.yaml cannot be refreshed"):
        Overlay(cloud="aws", region="", made_on="", patches={"limits.yaml": {}})
    other = {"format": 2, "cloud": "aws", "region": "us-east-1", "made_on": "2026-11-20",
             "patches": {}}  # fmt: skip
    (tmp_path / "aws.json").write_text(json.dumps(other))
    with pytest.raises(InvalidValue, match=r"aws\.json") as refused:
        read_overlays(tmp_path)
    assert "diskbench catalog prices --refresh --provider aws" in refused.value.advice


def test_a_figure_or_a_price_that_was_refreshed_counts_and_the_others_stay():
    before = SHIPPED.of("aws").machines.types["c4.xlarge"]
    books = Books((overlay(FASTER),))
    after = books.of("aws").machines.types["c4.xlarge"]
    assert (after.iops, after.source, after.mb_per_s) == (7000, "refreshed", before.mb_per_s)
    assert books.of("aws").prices == SHIPPED.of("aws").prices
    assert machine_of(books, "aws", "c4.xlarge", "gp2").gates[0].source == "an API (2026-11-20)"
    assert "m5.large" in books.of("aws").machines.types
    patch = {"sources": {"refreshed": SOURCE}, "machines": {"refreshed": {"m5.large": 0.2}}}
    prices = {"cloud": "aws", "region": "us-east-1", "made_on": "", "patches": {PRICES: patch}}
    books = Books((Overlay.model_validate(prices),))
    assert books.of("aws").prices.machine_price("m5.large") == (0.2, "refreshed")
    assert machine_part(books, "aws", "m5.large", "us-east-1").source == "an API (2026-11-20)"
    assert books.of("aws").prices.machine_price("c5.large") is not None


FRANKFURT, IRELAND = "eu-central-1", "eu-west-1"
ELSEWHERE = Overlay(
    cloud="aws", region=IRELAND, made_on="2026-11-20",
    patches={PRICES: {
        "sources": {"refreshed": SOURCE},
        "machines": {"refreshed": {"m5.large": 0.115}},
        "disks": {
            "gp2": {"per_gib": 0.119, "source": "refreshed"},
            "gp3": {"per_gib": 0.0952, "source": "refreshed"},
        },
    }},
)  # fmt: skip


def hourly(books, disk, region):
    return disk_part(books, "aws", DiskSpec(type=disk, size_gib=730), region).hourly_usd


def test_prices_of_another_region_count_there_and_none_is_taken_for_another_s():
    books = Books((ELSEWHERE,))
    assert machine_part(books, "aws", "m5.large", IRELAND).hourly_usd == 0.115
    assert machine_part(books, "aws", "m5.large", IRELAND).source == "an API (2026-11-20)"
    assert hourly(books, "gp2", IRELAND) == pytest.approx(0.119)
    for disk in ("gp2", "gp3"):
        assert hourly(books, disk, "us-east-1") == hourly(SHIPPED, disk, "us-east-1")
    assert machine_part(books, "aws", "m5.large", "eu-west-2").hourly_usd is None
    # The answer named neither c5.large nor what IOPS and throughput of gp3 cost there.
    assert machine_part(books, "aws", "c5.large", IRELAND).hourly_usd is None
    assert hourly(books, "gp3", IRELAND) is None
    assert hourly(books, "st1", IRELAND) is None
    # What was refreshed of a shipped region leaves its other prices.
    books = Books((ELSEWHERE.model_copy(update={"region": FRANKFURT}),))
    assert hourly(books, "gp2", FRANKFURT) == pytest.approx(0.119)
    assert hourly(books, "gp3", FRANKFURT) == hourly(SHIPPED, "gp3", FRANKFURT)
    assert machine_part(books, "aws", "m5.large", FRANKFURT).hourly_usd == 0.115
    assert machine_part(books, "aws", "c6in.large", FRANKFURT).hourly_usd == 0.12915


@pytest.mark.parametrize("cloud", ["aws", "azure", "gcp"])
def test_three_regions_of_a_cloud_have_prices_before_anything_is_asked(cloud):
    """One each in America, Europe and Asia; a disk's price there has all the parts of a price."""
    book = SHIPPED.of(cloud)
    assert len(book.regional) == 2
    for prices in book.regional.values():
        assert prices.machines
        for name, price in prices.disks.items():
            assert book.prices.disks[name].is_in(price.model_dump(exclude_defaults=True)), name


def test_overlays_of_several_regions_stand_beside_each_other(tmp_path):
    for one in (overlay(FASTER), ELSEWHERE):
        write_overlay(one, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"aws.json", f"aws-{IRELAND}.json"}
    books = Books(read_overlays(tmp_path))
    assert books.of("aws").machines.types["c4.xlarge"].iops == 7000
    assert hourly(books, "gp2", IRELAND) == pytest.approx(0.119)


def test_an_address_costs_there_what_was_refreshed_or_what_it_costs_everywhere():
    assert address_part(SHIPPED, "aws", FRANKFURT).hourly_usd == 0.005
    assert address_part(SHIPPED, "gcp", "europe-west1").hourly_usd == 0.005
    assert address_part(SHIPPED, "azure", "westeurope").hourly_usd is None
    patch = {
        "sources": {"refreshed": SOURCE}, "address": {"usd_per_hour": 0.006, "source": "refreshed"}
    }  # fmt: skip
    told = {"cloud": "azure", "region": "westeurope", "made_on": "", "patches": {PRICES: patch}}
    part = address_part(Books((Overlay.model_validate(told),)), "azure", "westeurope")
    assert (part.hourly_usd, part.source) == (0.006, "an API (2026-11-20)")


# Its throughput is sold in MB/s, one type has a bucket, one limits of reads and writes apart, its
# machines cache disks, and its prices are by tier and by part: all of it is data.
LIMITS = """
format: 1
cloud: acme
sources: {here: {title: Acme's own documents, as_of: '2026-11-20'}}
host_cache: scratch
accounting: {max_io_kib: 64, source: here}
disks:
  quick:
    title: Acme Quick
    size_gib: {min: 10, max: 1000, source: here}
    iops: {per_gib: 2, min: 50, source: here}
    iops_burst: {fixed: 1000, capacity: 360000, source: here}
    throughput: {fixed: 100, unit: MB/s, source: here}
    accounting: {max_io_kib: 64, source: here}
  split:
    title: Acme Split
    size_gib: {min: 1, max: 4000, source: here}
    apart: true
    iops: {provisioned: true, default: 1000, min: 100, max: 5000, source: here}
    write_iops: {fixed: 300, source: here}
  sized:
    title: Acme Sized
    tiers:
      unit: MB/s
      source: here
      chosen: {source: here}
      rows:
        - {name: T1, gib: 100, iops: 100, throughput: 10}
        - {name: T2, gib: 1000, iops: 900, throughput: 90}
  scratch:
    title: Acme Scratch
    place: cache
    unknown: shares the cached path of the machine
    source: here
    latency: {worst_ms: 0.5, source: here}
"""
MACHINES = """
format: 1
cloud: acme
sources: {here: {title: Acme's own documents, as_of: '2026-11-20'}}
burst: {duration_s: 600, source: here}
accounting: {max_io_kib: 16, source: here}
types:
  small: {vcpus: 2, memory_gib: 4, max_disks: 4, iops: 400, burst_iops: 600, mb_per_s: 50,
          cached_iops: 2000, source: here}
"""
STRANGERS_PRICES = """
format: 1
cloud: acme
region: north
sources: {list: {title: Acme's price list, as_of: '2026-11-20'}}
month_hours: {value: 730, source: list}
disks:
  quick: {per_gib: 0.1, source: list}
  sized: {tiers: {T1: 7.3, T2: 14.6}, source: list}
machines: {list: {small: 0.05}}
"""
CHARGES = """
format: 1
cloud: acme
region: north
sources: {list: {title: Acme's price list, as_of: '2026-11-20'}}
transactions: {quick: {usd: 1, per: 1000000, source: list}}
"""
PLUGIN = """
from diskbench.plugin import Plugin

PLUGIN = Plugin(name="acme", title="Acme", summary="A stranger's cloud.", rents=True,
                provider="acme_disks:unused", catalogue="acme_disks:catalogue")
"""
ASK = """
import json
from diskbench.catalog.books import Books
from diskbench.catalog.expect import expect_on, path_of
from diskbench.catalog.machine import machine_of
from diskbench.catalog.lookup import limits
from diskbench.catalog.cost import disk_part, machine_part
from diskbench.catalog.terms import tier_limits
from diskbench.catalog.prices import charge_of
from diskbench.model.rental import DiskSpec
from diskbench.model.expectation import Load
from diskbench.plan.limit_path import Hint, named_disk
from diskbench.plan.identify import like

books, small = Books(), Load(block_bytes=4096)
quick = limits("acme", "quick", 100)
on = path_of(quick, machine_of(books, "acme", "small", "quick"))
cached = path_of(quick, machine_of(books, "acme", "small", "quick"), cache="read-only")
own = limits("acme", "scratch", 1)
scratch = path_of(own, machine_of(books, "acme", "small", "scratch"))
way = Hint(as_disk="acme:quick:100", as_machine="small").limit_paths(books)[0]
print(json.dumps({
    "bare": expect_on(path_of(quick, machine_of(books, "acme", None, "quick")), small)
    .begin.iops,
    "lasting": expect_on(on, small).lasting.iops,
    "by": expect_on(on, small).begin.limited_by,
    "begin": expect_on(on, small).begin.iops,
    "hits": expect_on(cached, small.model_copy(update={"warm": True})).begin.iops,
    "scratch": expect_on(scratch, small).begin.iops,
    "apart": [pool.covers for pool in limits("acme", "split", 10).pools],
    "bytes": quick.pools[0].bytes_per_s.baseline,
    "tier": tier_limits("acme", "sized", "T2", 50).pools[0].iops.baseline,
    "disk": disk_part(books, "acme", DiskSpec(type="quick", size_gib=73), "north").hourly_usd,
    "tiered": disk_part(books, "acme", DiskSpec(type="sized", size_gib=73), "north").hourly_usd,
    "machine": machine_part(books, "acme", "small", "north").hourly_usd,
    "charge": charge_of("acme", DiskSpec(type="quick", size_gib=73), "north")[1].usd,
    "cache": named_disk("acme:quick:100").cache,
    "way": way.unknown,
    "like": like(1000, 200, 360000),
}))
"""


@pytest.mark.slow
def test_limits_expectations_and_prices_follow_from_its_files(tmp_path):
    package, dist = tmp_path / "acme_disks", tmp_path / "acme_disks-1.0.dist-info"
    (package / "catalogue").mkdir(parents=True)
    (package / "__init__.py").write_text(PLUGIN)
    files = {"limits": LIMITS, "machines": MACHINES, "prices": STRANGERS_PRICES, "charges": CHARGES}
    for name, text in files.items():
        (package / "catalogue" / f"{name}.yaml").write_text(text)
    dist.mkdir()
    (dist / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-disks\nVersion: 1.0\n")
    (dist / "entry_points.txt").write_text("[diskbench.providers]\nacme = acme_disks:PLUGIN\n")
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    env = {**os.environ, "PYTHONPATH": path, "XDG_CACHE_HOME": str(tmp_path)}
    asked = subprocess.run([sys.executable, "-c", ASK], env=env, capture_output=True, text=True)
    assert asked.returncode == 0, asked.stderr
    found = json.loads(asked.stdout)
    assert found.pop("disk") == pytest.approx(0.01)
    assert found.pop("tiered") == pytest.approx(0.01)
    assert found == {
        "bare": 1000, "begin": 600, "by": "vm-iops", "lasting": 200, "hits": 2000,
        "scratch": 2000, "apart": ["read", "write"], "bytes": 100e6, "tier": 900, "machine": 0.05,
        "charge": 1, "cache": "none", "way": [], "like": ["acme:quick:100"],
    }  # fmt: skip
