"""A real disk falls off its burst, and the phases say at which second."""

import numpy as np
import pytest
from tests.lab.conftest import Lab, ssh

from diskbench.analysis.phases import step_phases
from diskbench.catalog.expect import CatalogDisk, expect
from diskbench.catalog.lookup import limits
from diskbench.catalog.machine import MachineLimits
from diskbench.model.expectation import Load
from diskbench.model.rental import DiskSpec
from diskbench.providers.lab.request import LabRequest
from diskbench.units import KIB

pytestmark = pytest.mark.slow

SCALE = 93.1  # 1,862 s become 20


def test_the_cliff_of_a_gp2_is_found_at_the_second_that_the_catalogue_says(lab: Lab) -> None:
    request = LabRequest(disk=DiskSpec(type="gp2", size_gib=20), time_scale=SCALE)
    host = lab.machines.acquire("one", request)
    log = ssh(
        host,
        f"cd /tmp && fio --name=t --filename={host.device} --rw=randread --bs=4k --direct=1 "
        "--ioengine=libaio --iodepth=32 --runtime=40 --time_based --write_iops_log=t "
        "--log_avg_msec=1000 >/dev/null && cat t_iops.1.log",
    )
    iops = np.array([float(line.split(",")[1]) for line in log.splitlines()])
    found = step_phases(iops, iops * 4 * KIB, shortest_s=10)
    assert [phase.kind for phase in found.phases] == ["burst", "baseline"]
    [cliff] = found.cliffs
    # With the rate that this machine gave, which is the promised one unless it is overloaded.
    load = Load(block_bytes=4 * KIB, max_per_s=min(cliff.before, 3000))
    expected = expect(
        CatalogDisk(limits("aws", "gp2", 20), time_scale=SCALE), MachineLimits(""), load
    )
    assert expected is not None
    predicted = expected.lasts_s
    assert cliff.at_s == pytest.approx(predicted, abs=2)
    assert cliff.after == pytest.approx(100, rel=0.15)
    assert cliff.credits == pytest.approx(5_400_000 / SCALE, rel=0.15)
