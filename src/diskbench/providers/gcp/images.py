"""The machine image: the newest Ubuntu. An image must contain cloud-init, which installs the
lease's host key; Google's images of Debian, RHEL and Rocky Linux do not."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from diskbench.errors import DiskbenchError, InvalidValue
from diskbench.providers.gcp.errors import is_missing
from diskbench.providers.gcp.operations import last
from diskbench.providers.gcp.resolved import GcpImage

if TYPE_CHECKING:
    from diskbench.providers.gcp.client import Compute, Item

_UBUNTU = "ubuntu-os-cloud"
_FAMILIES = {"x86_64": "ubuntu-2404-lts-amd64", "arm64": "ubuntu-2404-lts-arm64"}
"""Source: PerfKitBenchmarker's Google Cloud virtual machines, 2026-08-20."""
_USERS = {_UBUNTU: "ubuntu"}
_USER = "diskbench"
"""The login user of any other image: cloud-init and Google's guest agent create it."""
_LINK = re.compile(
    r"(https://[a-z.]+/compute/v1/)?(projects/(?P<project>[a-z0-9.:-]+)/)?"
    r"(global/)?images/(?P<family>family/)?(?P<name>[a-z][a-z0-9-]*)"
)


def find_image(compute: Compute, typed: str | None, arch: str) -> GcpImage:
    """The image of `--image`: `ubuntu` (as without it), or a path as
    `projects/PROJECT/global/images/NAME` or `…/images/family/FAMILY`. Raises InvalidValue."""
    if typed in {None, "ubuntu"}:
        return _family(compute, _UBUNTU, _FAMILIES[arch])
    link = _LINK.fullmatch(str(typed))
    if link is None:
        raise InvalidValue(
            f"--image {typed!r} is not an image",
            advice="give ubuntu, or projects/PROJECT/global/images/NAME or …/images/family/FAMILY",
            field="image",
        )
    project = link["project"] or compute.project
    if link["family"]:
        return _family(compute, project, link["name"])
    request = {"project": project, "image": link["name"]}
    return _image(_look_up(compute, "get", request, link["name"]), project)


def _family(compute: Compute, project: str, family: str) -> GcpImage:
    request = {"project": project, "family": family}
    return _image(_look_up(compute, "getFromFamily", request, family), project)


def _look_up(compute: Compute, method: str, request: Item, name: str) -> Item:
    try:
        return compute.call("images", method, request)
    except DiskbenchError as error:
        if not is_missing(error):
            raise
        raise InvalidValue(
            f"project {request['project']} has no image {name}",
            advice="gcloud compute images list shows those there are",
        ) from error


def _image(described: Item, project: str) -> GcpImage:
    state = str(described.get("status", "READY"))
    if state != "READY":
        raise InvalidValue(
            f"image {described.get('name')} is {state.lower()}", advice="use another --image"
        )
    return GcpImage(
        link=f"projects/{project}/global/images/{last(str(described['name']))}",
        name=str(described["name"]),
        arch=arch_of(described),
        root_gib=int(described.get("diskSizeGb", 10)),
        user=_USERS.get(project, _USER),
        uefi="UEFI_COMPATIBLE"
        in {str(feature.get("type")) for feature in described.get("guestOsFeatures", [])},
    )


def arch_of(described: Item) -> str:
    """x86_64 or arm64, as an image or a machine type says."""
    return "arm64" if str(described.get("architecture", "")).upper() == "ARM64" else "x86_64"
