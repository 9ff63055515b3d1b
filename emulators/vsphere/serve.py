"""The emulated vSphere for `python -m emulators vsphere`."""

from collections.abc import Iterator
from contextlib import contextmanager

from emulators.serving import Demo, Options, Told
from emulators.vsphere.cloud import running

_DISK = "--datastore nvme --size 20 --iops-limit 3000 --promise iops=3000"
_PROFILE = "--profile quick --set runtime=10s"


@contextmanager
def serve(options: Options) -> Iterator[Told]:
    """As serving.Serve."""
    assert not options.tags, "vSphere has no policies that demand tags"
    with running(options.state, time_scale=options.time_scale, port=options.port) as cloud:
        cloud.lag(options.lag)
        trust = ["--ca-file", str(cloud.simulator.ca_file)]
        where = ["--endpoint-url", cloud.endpoint, *trust]
        demo = Demo(
            run=["run", "--provider", "vsphere", *where, *_DISK.split(), *_PROFILE.split()],
            listing=where,
        )
        more = {"ca_file": str(cloud.simulator.ca_file)}
        yield Told(cloud.endpoint, cloud.env, options.time_scale, demo, more)
