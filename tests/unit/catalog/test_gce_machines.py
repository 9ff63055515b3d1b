"""Google Cloud's machine series: which disks they take, and how fast."""

import pytest

from diskbench.catalog.limits.lookup import disk_types
from diskbench.catalog.machines.machine_book import machine_book, parse_machines
from diskbench.errors import InvalidValue

BOOK = machine_book("gcp")


@pytest.mark.parametrize(
    ("name", "vcpus"),
    [
        ("n2-standard-8", 8),
        ("c3-standard-88-lssd", 88),
        ("n1-highcpu-8", 8),
        ("e2-medium", None),
        ("n2-custom-4-8192", None),
    ],
)
def test_the_vcpus_of_a_type_are_in_its_name(name: str, vcpus: int | None) -> None:
    assert BOOK.vcpus_of(name) == vcpus
    assert BOOK.series_of(name) is BOOK.series[name.partition("-")[0]]


@pytest.mark.parametrize(
    ("series", "disk"),
    [("n4", "pd-ssd"), ("c4", "pd-balanced"), ("c3", "pd-standard"), ("e2", "pd-extreme")],
)
def test_newer_series_refuse_older_disks(series: str, disk: str) -> None:
    assert disk not in BOOK.series[series].disks


def test_a_cap_holds_from_its_vcpus_on() -> None:
    fit = BOOK.series["n2"].disks["pd-ssd"]
    sizes = (8, 15, 16, 31, 64, 128)
    assert [fit.cap(n).read_iops for n in sizes] == [15e3, 15e3, 25e3, 25e3, 1e5, 1e5]
    assert fit.cap(0) is None


def test_caps_grow_with_the_machine() -> None:
    for series in BOOK.series.values():
        for fit in series.disks.values():
            assert list(fit.caps) == sorted(fit.caps, key=lambda cap: cap.vcpus)
            for before, after in zip(fit.caps, fit.caps[1:], strict=False):
                assert after.read_iops >= before.read_iops


def test_only_disks_of_the_catalogue_are_named_and_all_but_local_ones_have_a_taker() -> None:
    named = {disk for series in BOOK.series.values() for disk in series.disks}
    assert named == set(disk_types("gcp")) - {"local-ssd"}
    assert all(name.partition("-")[0] in BOOK.series for name in BOOK.tried)


def test_a_figure_without_a_source_is_refused() -> None:
    text = """
format: 1
cloud: gcp
sources: {here: {title: somewhere, as_of: null, read: '2026-11-21'}}
choices: {types: [], source: here}
series:
  n2: {interface: scsi, local_ssd: none, source: here, disks: {pd-ssd: {source: nowhere}}}
"""
    with pytest.raises(InvalidValue, match="n2 pd-ssd: 'nowhere'"):
        parse_machines(text, where="mine.yaml")
