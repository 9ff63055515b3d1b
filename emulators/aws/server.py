"""The emulated AWS as one thing: started, told where it is, stopped, with nothing left of it."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from diskbench.providers.aws.doctor import policy as printed_policy
from diskbench.providers.skeleton.leases import LEASE_TAG
from emulators import guests
from emulators.aws.cloud import Cloud
from emulators.aws.dispatch import forget_everything, installed
from emulators.aws.missing import answering
from emulators.aws.rights import OWNER_KEY
from emulators.guests import write_ssh_config

if TYPE_CHECKING:
    from moto.server import ThreadedMotoServer

ADDRESS = "127.0.0.1"
REGION = "us-east-1"
ACCESS_KEY = "AKIADISKBENCH0000001"
SECRET = "no-secret"  # noqa: S105 - whoever knows it can reach this machine's loopback already


@contextlib.contextmanager
def running(cloud: Cloud, *, port: int = 0) -> Iterator[str]:
    """Serve the cloud until the block ends; the endpoint's URL. Everything of it is gone then.

    One at a time in a process: moto's state is the process's own. Lab hosts of an earlier emulator
    that was killed in the same state directory are taken away first.
    """
    lab = cloud.state / "lab"
    before = os.environ.get(guests.LAB_VARIABLE)
    os.environ[guests.LAB_VARIABLE] = str(lab)
    try:
        _clear(cloud)
        write_ssh_config(cloud.ssh_config, {})
        with installed(cloud), cloud.monitoring.going_on(lambda: list(cloud.machines)):
            server = _start(port, cloud)
            host, bound = server.get_host_and_port()
            try:
                yield f"http://{host}:{bound}"
            finally:
                server.stop()
                _clear(cloud)
    finally:
        if before is None:
            del os.environ[guests.LAB_VARIABLE]
        else:
            os.environ[guests.LAB_VARIABLE] = before


def warm_up(cloud: Cloud, endpoint: str) -> None:
    """Load what moto loads with the first request of a kind, so that no user waits for it."""
    import boto3

    for service, action in (
        ("sts", "get_caller_identity"),
        ("ssm", "describe_parameters"),
        ("ec2", "describe_security_groups"),
        ("ec2", "describe_instances"),
    ):
        client = boto3.client(
            service,  # type: ignore[call-overload]
            endpoint_url=endpoint,
            region_name=REGION,
            aws_access_key_id=OWNER_KEY,
            aws_secret_access_key=SECRET,
        )
        getattr(client, action)()
    cloud.faults.reset()


def fresh(cloud: Cloud) -> None:
    """Everything as when it was started: nothing rented, nothing asked, nothing going wrong."""
    try:
        _clear(cloud)
    finally:
        with cloud.lock:
            forget_everything()
            cloud.faults.reset()
            cloud.tokens.seen.clear()
            cloud.transitions.under_way.clear()
            cloud.regions.clear()
            cloud.demanded.clear()
            cloud.late.clear()
            cloud.policy, cloud.organization, cloud.encrypts_with = printed_policy(), None, None
            cloud.fast_restores.clear()
            cloud.restores.clear()
            cloud.monitoring.clear()
            cloud.metrics_after_s = 0.0
            cloud.free_plan, cloud.spot_role, cloud.not_enabled = False, True, frozenset()
            write_ssh_config(cloud.ssh_config, {})


def environment(cloud: Cloud) -> dict[str, str]:
    """What a user of the cloud has in the environment: credentials, region, the way to machines."""
    nowhere = str(cloud.state / "no-aws-config")
    return {
        "AWS_ACCESS_KEY_ID": ACCESS_KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_CONFIG_FILE": nowhere,
        "AWS_SHARED_CREDENTIALS_FILE": nowhere,
        "AWS_EC2_METADATA_DISABLED": "true",
        "DISKBENCH_SSH_CONFIG": str(cloud.ssh_config),
    }


def storage_environment(endpoint: str) -> dict[str, str]:
    """What makes `s3://` URLs of an evidence store lead to the emulator."""
    return {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ALLOW_HTTP": "true",
        "AWS_VIRTUAL_HOSTED_STYLE_REQUEST": "false",
    }


def left(cloud: Cloud) -> list[str]:
    """Everything that is rented in the cloud, or of it on this machine, in words."""
    from moto.ec2.models import ec2_backends

    with cloud.lock:
        found = []
        for account in ec2_backends:
            for region, ec2 in ec2_backends[account].items():
                found += [f"{region} {thing}" for thing in _rented(ec2)]
    return found + guests.left(cloud.state)


def _rented(ec2: Any) -> Iterator[str]:
    for instance in ec2.all_instances():
        if instance.state != "terminated":
            yield f"{instance.id} is {instance.state}"
    for volume in ec2.volumes.values():
        yield f"{volume.id} is {volume.status}"
    for name in ec2.snapshots:
        if LEASE_TAG in ec2.tags.get(name, {}):
            yield f"{name} is there"
    for name in ec2.key_pairs:
        yield f"key pair {name}"
    for groups in ec2.groups.values():
        yield from (f"group {group.name}" for group in groups.values() if group.name != "default")


def _start(port: int, cloud: Cloud) -> ThreadedMotoServer:
    from moto.moto_server.werkzeug_app import (
        DomainDispatcherApplication,
        MotoRequestHandler,
        create_backend_app,
    )
    from moto.server import ThreadedMotoServer
    from werkzeug.serving import make_server

    class Server(ThreadedMotoServer):
        """moto's, with answers of ours before it."""

        def _server_entry(self) -> None:
            app = answering(DomainDispatcherApplication(create_backend_app), cloud)
            self._server = make_server(
                self._ip_address, self._port, app, threaded=True, request_handler=MotoRequestHandler
            )
            self._server_ready_event.set()
            self._server.serve_forever()
            self._server.server_close()

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = Server(ip_address=ADDRESS, port=port, verbose=False)
    server.start()
    return server


def _clear(cloud: Cloud) -> None:
    """Take away every machine and every volume's content; raise what went wrong in the lab."""
    for machine in list(cloud.machines.values()):
        with cloud.lock:
            machine.going = True
        machine.queue.shutdown(wait=True, cancel_futures=True)
    cloud.machines.clear()
    cloud.reach.clear()
    for name in guests.names():
        guests.destroy(name)
    for image in Path(cloud.state, "volumes").glob("*.img"):
        image.unlink()
    if errors := cloud.errors.copy():
        cloud.errors.clear()  # the next test is not blamed
        raise ExceptionGroup("the lab behind the emulator", errors)  # type: ignore[type-var]
