"""diskbench as ever, but that it does not wait long for AWS: `python impatient.py run …`.

A volume counts as stuck after seconds here, not after five minutes.
"""

from functools import partial

from diskbench.cli.main import main
from diskbench.providers.aws import provider
from diskbench.providers.aws.timing import AwsTiming

QUICK = AwsTiming(
    first_poll_s=0.05,
    max_poll_s=0.5,
    instance_s=20,
    volume_s=5,
    attach_s=20,
    ssh_s=5,
    ready_s=20,
    checks_s=5,
    terminate_s=30,
    delete_s=30,
    retry_s=20,
    first_retry_s=0.05,
    max_retry_s=0.5,
    nap_s=0.05,
)

if __name__ == "__main__":
    provider.AWSProvider = partial(provider.AWSProvider, timing=QUICK)  # type: ignore[misc,assignment]
    main()
