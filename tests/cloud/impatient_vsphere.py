"""diskbench as ever, but that it waits less for vSphere: `python impatient_vsphere.py run …`.

A guest without an address is given up after seconds here, not after a quarter of an hour.
"""

from functools import partial

from diskbench.cli.main import main
from diskbench.providers.vsphere import provider
from diskbench.providers.vsphere.timing import VsphereTiming

QUICK = VsphereTiming(
    first_poll_s=0.02,
    max_poll_s=0.3,
    clone_s=20,
    power_s=20,
    address_s=5,
    disk_s=20,
    disk_s_per_gib=0,
    appear_s=5,
    ssh_s=10,
    ready_s=20,
    delete_s=30,
    retry_s=10,
    first_retry_s=0.05,
    max_retry_s=0.5,
    nap_s=0.05,
)

if __name__ == "__main__":
    provider.VsphereProvider = partial(provider.VsphereProvider, timing=QUICK)  # type: ignore[misc,assignment]
    main()
