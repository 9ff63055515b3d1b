"""A Google disk whose identity udev has not stored yet has not appeared."""

from diskbench.providers.gcp.attach import find_disk
from diskbench.providers.guest import GuestDisk

LINK = "/dev/disk/by-id/google-diskbench-0"
SIZE = 2**30


def test_a_disk_without_an_identity_is_waited_for() -> None:
    early = GuestDisk(node="/dev/sdb", number="8:16", size_bytes=SIZE, identity="", links=(LINK,))
    assert find_disk([early], "diskbench-0", SIZE, ()) is None
    known = early.model_copy(update={"identity": "0Google_PersistentDisk_diskbench-0"})
    found = find_disk([known], "diskbench-0", SIZE, ())
    assert found is not None
    assert found.path == LINK
