"""The emulated Compute Engine as one thing: started, told where it is, stopped, nothing left."""

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

from emulators import guests
from emulators.gcp import rights
from emulators.gcp.cloud import Cloud
from emulators.gcp.discovery import methods
from emulators.gcp.iap import write_gcloud
from emulators.gcp.transport import TOKEN_PATH, served
from emulators.guests import write_ssh_config

REGION, ZONE = "us-central1", "us-central1-a"
ACCOUNT = "diskbench@diskbench-emulated.iam.gserviceaccount.com"
"""The service account that users act as. Its role is the one that diskbench prints."""


@contextlib.contextmanager
def running(cloud: Cloud, *, port: int = 0) -> Iterator[str]:
    """Serve the cloud until the block ends; the endpoint's URL. Everything of it is gone then.

    Lab hosts of an earlier emulator that was killed in the same state directory are taken away
    first.
    """
    before = os.environ.get(guests.LAB_VARIABLE)
    os.environ[guests.LAB_VARIABLE] = str(cloud.state / "lab")
    try:
        _clear(cloud)
        _as_at_first(cloud)
        methods()
        write_ssh_config(cloud.ssh_config, {})
        with served(cloud, port) as endpoint:
            write_credentials(cloud.credentials, endpoint, "diskbench")
            write_gcloud(cloud.programs, endpoint, ACCOUNT)
            try:
                yield endpoint
            finally:
                _clear(cloud)
    finally:
        if before is None:
            del os.environ[guests.LAB_VARIABLE]
        else:
            os.environ[guests.LAB_VARIABLE] = before


def write_credentials(path: Path, endpoint: str, account: str) -> None:
    """The key file of a service account, as IAM makes them; its token server is ours."""
    from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    key = generate_private_key(65537, 2048)
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    told = {
        "type": "service_account",
        "project_id": "diskbench-emulated",
        "private_key_id": account,
        "private_key": pem,
        "client_email": f"{account}@diskbench-emulated.iam.gserviceaccount.com",
        "client_id": "1",
        "token_uri": endpoint + TOKEN_PATH,
    }
    path.write_text(json.dumps(told), "utf-8")
    path.chmod(0o600)


def environment(cloud: Cloud) -> dict[str, str]:
    """What a user of the cloud has in the environment: credentials, project, way to machines."""
    return {
        "GOOGLE_APPLICATION_CREDENTIALS": str(cloud.credentials),
        "GOOGLE_CLOUD_PROJECT": cloud.project,
        "NO_GCE_CHECK": "true",
        "DISKBENCH_SSH_CONFIG": str(cloud.ssh_config),
    }


def fresh(cloud: Cloud) -> None:
    """Everything as when it was started: nothing rented, nothing asked, nothing going wrong."""
    try:
        _clear(cloud)
    finally:
        with cloud.lock:
            cloud.faults.reset()
            _as_at_first(cloud)
            cloud.request_ids.clear()
            cloud.operations.known.clear()
            cloud.later_s = 0.0
            write_ssh_config(cloud.ssh_config, {})


def _as_at_first(cloud: Cloud) -> None:
    cloud.roles = {ACCOUNT: rights.role()}
    cloud.constraints.enforced.clear()
    cloud.constraints.labels.clear()
    cloud.snapshots.clear()
    cloud.keys.clear()
    cloud.billed = True
    cloud.custom_mode, cloud.stack = False, "IPV4_ONLY"
    cloud.sightings.settle()
    cloud.sightings.known.clear()


def left(cloud: Cloud) -> list[str]:
    """Everything that is rented in the cloud, or of it on this machine, in words."""
    with cloud.lock:
        found = [
            f"{path.partition('/')[2]} is {row.get('status', 'there')}"
            for path, row in cloud.resources.items()
        ]
    return found + guests.left(cloud.state)


def _clear(cloud: Cloud) -> None:
    """Take away every machine and every disk's content; raise what went wrong in the lab."""
    with cloud.lock:
        machines = list(cloud.machines.values())
        for machine in machines:
            machine.going = True
    for machine in machines:
        machine.queue.shutdown(wait=True, cancel_futures=True)
    with cloud.lock:
        cloud.machines.clear()
        cloud.resources.clear()
    for name in guests.names():
        guests.destroy(name)
    for image in (cloud.state / "volumes").glob("*.img"):
        image.unlink()
    if cloud.errors:
        errors, cloud.errors = cloud.errors, []
        raise BaseExceptionGroup("the lab behind the emulator", errors)
