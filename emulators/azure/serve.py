"""The emulated Azure for `python -m emulators azure`."""

from collections.abc import Iterator
from contextlib import contextmanager

from diskbench.providers.azure.doctor import actions
from emulators.azure.cloud import Cloud
from emulators.azure.operations import Pace
from emulators.azure.server import REGION, environment, running
from emulators.serving import Demo, Options, Told

# Standard HDD promises 500 IOPS; the host's cache of this size serves 8,000.
_DISK = "--disk Standard_LRS --size 64 --cache readwrite --instance-type Standard_D4s_v3"
_PROFILE = "--profile burst --set runtime=20s --set size=1g"


@contextmanager
def serve(options: Options) -> Iterator[Told]:
    """As serving.Serve."""
    cloud = Cloud(
        options.state,
        time_scale=options.time_scale,
        limit_s=options.limit_s,
        lag=options.lag,
        pace=Pace(retry_after_s=1),
    )
    cloud.faults.grant(actions())
    cloud.faults.demanded_tags |= dict.fromkeys(options.tags, ("groups", "resources"))
    with running(cloud, port=options.port) as endpoint:
        where = ["--region", REGION, "--endpoint-url", endpoint]
        demo = Demo(
            run=["run", "--provider", "azure", *where, *_DISK.split(), *_PROFILE.split()],
            listing=["--endpoint-url", endpoint],
            unset=["AZURE_CLIENT_CERTIFICATE_PATH", "AZURE_USERNAME", "AZURE_FEDERATED_TOKEN_FILE"],
        )
        yield Told(endpoint, environment(cloud, endpoint), cloud.time_scale, demo)
