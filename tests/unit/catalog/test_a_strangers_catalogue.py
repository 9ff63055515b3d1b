"""A provider in a package of its own brings its catalogue by its plugin alone.

Its throughput is sold in MB/s, one type has a bucket, one has limits of reads and writes apart, its
machines cache disks, and its prices are by tier and by part: all of it is data.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

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
PRICES = """
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
def test_limits_expectations_and_prices_follow_from_its_files(tmp_path: Path) -> None:
    package, dist = tmp_path / "acme_disks", tmp_path / "acme_disks-1.0.dist-info"
    (package / "catalogue").mkdir(parents=True)
    (package / "__init__.py").write_text(PLUGIN)
    files = {"limits": LIMITS, "machines": MACHINES, "prices": PRICES, "charges": CHARGES}
    for name, text in files.items():
        (package / "catalogue" / f"{name}.yaml").write_text(text)
    dist.mkdir()
    (dist / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-disks\nVersion: 1.0\n")
    (dist / "entry_points.txt").write_text("[diskbench.providers]\nacme = acme_disks:PLUGIN\n")
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    env = {**os.environ, "PYTHONPATH": path, "XDG_CACHE_HOME": str(tmp_path)}
    asked = subprocess.run([sys.executable, "-c", ASK], env=env, capture_output=True, text=True)
    assert asked.returncode == 0, asked.stderr
    found: dict[str, Any] = json.loads(asked.stdout)
    assert found.pop("disk") == pytest.approx(0.01)
    assert found.pop("tiered") == pytest.approx(0.01)
    assert found == {
        "bare": 1000, "begin": 600, "by": "vm-iops", "lasting": 200, "hits": 2000,
        "scratch": 2000, "apart": ["read", "write"], "bytes": 100e6, "tier": 900, "machine": 0.05,
        "charge": 1, "cache": "none", "way": [], "like": ["acme:quick:100"],
    }  # fmt: skip
