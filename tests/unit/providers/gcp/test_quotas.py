"""Which of a region's quotas renting counts against."""

from __future__ import annotations

from diskbench.providers.gcp.doctor import _quotas


def test_totals_families_and_disks_are_told_apart():
    listed = [
        {"metric": "CPUS", "limit": 24.0, "usage": 8.0},
        {"metric": "C3_CPUS", "limit": 8.0, "usage": 0.0},
        {"metric": "PREEMPTIBLE_CPUS", "limit": 0.0},
        {"metric": "COMMITTED_CPUS", "limit": 0.0},
        {"metric": "SSD_TOTAL_GB", "limit": 500.0, "usage": 10.0},
        {"metric": "SNAPSHOTS", "limit": 10_000.0},
    ]
    found = {one.name: one for one in _quotas(listed, "us-east1")}
    assert set(found) == {"CPUS", "C3_CPUS", "PREEMPTIBLE_CPUS", "SSD_TOTAL_GB"}
    assert (found["CPUS"].kind, found["CPUS"].of, found["CPUS"].used) == ("vcpus", (), 8)
    assert (found["C3_CPUS"].kind, found["C3_CPUS"].of) == ("vcpus", ("c3",))
    assert found["PREEMPTIBLE_CPUS"].kind == "spot-vcpus"
    assert found["SSD_TOTAL_GB"].of == ("pd-balanced", "pd-ssd", "pd-extreme")
    assert {one.region for one in found.values()} == {"us-east1"}
