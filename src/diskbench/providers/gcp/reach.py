"""How a machine is reached: by its public address, its private one, or a tunnel of IAP's."""

from __future__ import annotations

import shlex
import shutil
from typing import TYPE_CHECKING, Literal

from diskbench.errors import HostUnavailable
from diskbench.providers.gcp.options import GcpOptions
from diskbench.providers.options import NetworkOptions

if TYPE_CHECKING:
    from diskbench.model.rental import RentSpec

Reach = Literal["public", "private", "iap"]

IAP_RANGE = "35.235.240.0/20"
"""The network from which IAP reaches machines (Google Cloud, "Using IAP for TCP forwarding")."""
_PROGRAM = "gcloud"


def reach_of(spec: RentSpec) -> Reach:
    """How the machine of a spec is reached; a tunnel needs no public address."""
    if GcpOptions.of(spec).iap:
        return "iap"
    return "private" if NetworkOptions.of(spec).no_public_ip else "public"


def find_gcloud() -> str:
    """The path of gcloud, which opens the tunnel. Raises HostUnavailable without it."""
    path = shutil.which(_PROGRAM)
    if path is None:
        raise HostUnavailable(
            "--iap needs gcloud, which opens the tunnel, and it is not in PATH",
            advice="install the Google Cloud CLI and log in (gcloud auth login), or use "
            "--no-public-ip from a machine inside the network",
            field="iap",
        )
    return path


def tunnel(project: str, zone: str, machine: str) -> str:
    """The ProxyCommand of a machine: what `gcloud compute ssh --tunnel-through-iap` runs."""
    words = [
        find_gcloud(), "compute", "start-iap-tunnel", machine, "%p", "--listen-on-stdin",
        f"--project={project}", f"--zone={zone}", "--verbosity=warning",
    ]  # fmt: skip
    return " ".join(word if word == "%p" else shlex.quote(word) for word in words)
