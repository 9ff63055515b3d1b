"""diskbench as ever, but that it does not wait long for Google Cloud: `python impatient_gcp.py run
…`.

A disk counts as stuck after seconds here, not after five minutes.
"""

from functools import partial

from diskbench.cli.main import main
from diskbench.providers.gcp import provider
from diskbench.providers.gcp.timing import GceTiming

QUICK = GceTiming(
    first_poll_s=0.02,
    max_poll_s=0.3,
    instance_s=20,
    disk_s=5,
    attach_s=20,
    firewall_s=5,
    ssh_s=5,
    ready_s=20,
    delete_s=30,
    retry_s=20,
    first_retry_s=0.05,
    max_retry_s=0.5,
    nap_s=0.05,
)

if __name__ == "__main__":
    provider.GCPProvider = partial(provider.GCPProvider, timing=QUICK)  # type: ignore[misc,assignment]
    main()
