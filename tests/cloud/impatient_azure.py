"""diskbench as ever, but that it does not wait long for Azure: `python impatient_azure.py run …`.

An operation counts as stuck after seconds here, not after minutes.
"""

from functools import partial

from diskbench.cli.main import main
from diskbench.providers.azure import provider
from diskbench.providers.azure.timing import AzureTiming

QUICK = AzureTiming(
    first_poll_s=0.05,
    max_poll_s=0.5,
    network_s=20,
    machine_s=20,
    disk_s=5,
    attach_s=20,
    appear_s=20,
    ssh_s=5,
    ready_s=20,
    delete_s=30,
    retry_s=20,
    look_s=5,
    first_retry_s=0.05,
    max_retry_s=0.5,
    nap_s=0.05,
)

if __name__ == "__main__":
    provider.AzureProvider = partial(provider.AzureProvider, timing=QUICK)  # type: ignore[misc,assignment]
    main()
