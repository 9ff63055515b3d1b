"""The emulated AWS for `python -m emulators aws`."""

from collections.abc import Iterator
from contextlib import contextmanager

from emulators.aws.cloud import Cloud
from emulators.aws.policies import demanding_tags
from emulators.aws.server import (
    REGION,
    environment,
    running,
    storage_environment,
    warm_up,
)
from emulators.serving import Demo, Options, Told

# The burst of gp2 at 20 GiB lasts half an hour; a 120th of it is seen in a minute and a half.
_DISK = "--disk gp2 --size 20 --time-scale 120"
_PROFILE = "--profile burst --set runtime=40s --set size=1g"


@contextmanager
def serve(options: Options) -> Iterator[Told]:
    """As serving.Serve."""
    cloud = Cloud(
        options.state, time_scale=options.time_scale, limit_s=options.limit_s, lag=options.lag
    )
    if options.tags:
        cloud.organization = demanding_tags(*options.tags)
    with running(cloud, port=options.port) as endpoint:
        warm_up(cloud, endpoint)
        where = ["--region", REGION, "--endpoint-url", endpoint]
        demo = Demo(
            run=["run", "--provider", "aws", *where, *_DISK.split(), *_PROFILE.split()],
            listing=[*where],
            unset=["AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL"],
        )
        more = {"storage_env": storage_environment(endpoint)}
        yield Told(endpoint, environment(cloud), cloud.time_scale, demo, more)
