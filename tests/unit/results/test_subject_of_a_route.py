"""How a machine is reached is no part of what was measured."""

from __future__ import annotations

from diskbench.results.subject import _rented


def test_a_disk_reached_by_a_tunnel_is_the_same_subject() -> None:
    disk = {"disk": "pd-ssd", "size_gib": 20}
    reached = {**disk, "gcp": {"iap": True}, "network": {"no_public_ip": True}}
    assert _rented(reached) == _rented(disk)
