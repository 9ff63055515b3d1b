"""The disk that `advise` names carries the load that was asked for, and a smaller one of its type
does not: six recommendations of three clouds, each measured with real fio on an emulated disk."""

from dataclasses import dataclass

import pytest
from tests.books import SHIPPED
from tests.lab.conftest import fio

from diskbench.catalog.prices import price_book
from diskbench.model.expectation import Load
from diskbench.plan.advise import Market, advise
from diskbench.plan.demand import DAY_S, constant
from diskbench.providers.lab.request import LabRequest
from diskbench.units import KIB, MIB

STYLES = {"aws": "aws-nvme", "azure": "azure", "gcp": "google"}
ENOUGH = 0.9
"""Of the load: other tests use this machine too, and the smaller disks do 0.8 of it."""
LASTING = 100_000
"""Divides a credit so that nothing is left of it when fio has warmed up."""


@dataclass(frozen=True)
class Question:
    """A load and the disk type whose row is measured; `shorter` divides credit and time alike, and
    `smaller` is the size of a disk that is too small (GiB; None: the smallest carries it)."""

    cloud: str
    disk: str
    rate: int
    read_share: float = 1.0
    block: int = 4 * KIB
    seconds: float = DAY_S
    shorter: float = LASTING
    smaller: int | None = None


QUESTIONS = [
    Question("aws", "gp2", 360, smaller=96),
    Question("aws", "gp2", 2_000, seconds=1_800, shorter=360),
    Question("aws", "gp3", 3_000, read_share=0.7),
    Question("aws", "st1", 40, block=MIB, smaller=800),
    Question("azure", "Premium_LRS", 900, smaller=128),
    Question("gcp", "pd-standard", 300, smaller=320),
]


def recommended(asked):
    load = Load(block_bytes=asked.block, read_share=asked.read_share, max_per_s=asked.rate)
    market = Market(SHIPPED, asked.cloud, price_book(asked.cloud).region)
    rows = advise([market], constant(load, 20, asked.seconds, None)).rows
    return next(row.disk.spec for row in rows if row.disk.disk_type == asked.disk)


def measured(lab, asked, disk):
    request = LabRequest(style=STYLES[asked.cloud], disk=disk, time_scale=asked.shorter)
    host = lab.machines.acquire("one", request)
    times = ["--ramp_time=2", "--runtime=4"]
    if asked.shorter != LASTING:
        times = [f"--runtime={asked.seconds / asked.shorter:.0f}"]
    reads = round(asked.rate * asked.read_share)
    mix = ["--rw=randread", f"--rate_iops={reads}"]
    if reads < asked.rate:
        share = f"--rwmixread={asked.read_share * 100:.0f}"
        mix = ["--rw=randrw", share, f"--rate_iops={reads},{asked.rate - reads}"]
    done = fio(host, *mix, f"--bs={asked.block}", "--size=2g", "--time_based", *times)
    return done["read_iops"] + done["write_iops"]


def named(asked):
    return f"{asked.disk}-{asked.rate}"


@pytest.mark.parametrize("asked", QUESTIONS, ids=named)
def test_the_disk_that_is_advised_carries_the_load(lab, asked):
    assert measured(lab, asked, recommended(asked)) > ENOUGH * asked.rate


@pytest.mark.parametrize("asked", [one for one in QUESTIONS if one.smaller], ids=named)
def test_a_smaller_disk_of_its_type_does_not(lab, asked):
    assert asked.smaller is not None
    disk = recommended(asked)
    assert asked.smaller < disk.size_gib
    smaller = disk.model_copy(update={"size_gib": asked.smaller})
    assert measured(lab, asked, smaller) < ENOUGH * asked.rate
