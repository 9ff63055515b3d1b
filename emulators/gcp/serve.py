"""The emulated Compute Engine for `python -m emulators gcp`."""

from collections.abc import Iterator
from contextlib import contextmanager

from emulators.gcp.cloud import Cloud
from emulators.gcp.server import REGION, environment, running
from emulators.serving import Demo, Options, Told

_DISK = "--disk pd-ssd --size 256"
_PROFILE = "--profile quick"


@contextmanager
def serve(options: Options) -> Iterator[Told]:
    """As serving.Serve."""
    cloud = Cloud(options.state, time_scale=options.time_scale, limit_s=options.limit_s)
    cloud.lag = options.lag
    with running(cloud, port=options.port) as endpoint:
        cloud.constraints.labels.update(options.tags)
        where = ["--project", cloud.project, "--endpoint-url", endpoint]
        run = ["run", "--provider", "gcp", "--region", REGION, *where]
        demo = Demo(
            run=[*run, *_DISK.split(), *_PROFILE.split()],
            listing=where,
            unset=["GOOGLE_CLOUD_QUOTA_PROJECT", "CLOUDSDK_CORE_PROJECT", "CLOUDSDK_CONFIG"],
        )
        yield Told(endpoint, environment(cloud), cloud.time_scale, demo)
