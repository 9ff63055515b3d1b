"""Public images and the parameters that name the latest ones, in every region that is used.

moto knows Amazon's parameters but not their images, and nothing of Canonical's. Names of the
parameters: Canonical, "Find Ubuntu images on AWS" (documentation.ubuntu.com/aws, 2026), and Systems
Manager User Guide, "Calling AMI public parameters for Amazon Linux".
"""

import hashlib
from dataclasses import dataclass
from functools import cache
from typing import Any

from emulators.aws.call import Answer, Call, Proceed
from emulators.aws.cloud import Cloud

CANONICAL, AMAZON = "099720109477", "137112412989"
AWS_ARCH = {"amd64": "x86_64", "arm64": "arm64"}


@dataclass(frozen=True)
class Image:
    """A public image: owner, default user, architecture, and the parameters that name it."""

    name: str
    owner: str
    user: str
    arch: str
    root: str
    parameters: tuple[str, ...]

    def ami(self, region: str) -> str:
        """Its id in a region."""
        return "ami-0" + hashlib.sha256(f"{region}/{self.name}".encode()).hexdigest()[:16]


def _ubuntu(release: str, codename: str, arch: str, root: str) -> Image:
    base = f"/aws/service/canonical/ubuntu/server/{{}}/stable/current/{arch}/hvm/{root}/ami-id"
    kind = {"ebs-gp2": "hvm-ssd", "ebs-gp3": "hvm-ssd-gp3"}[root]
    name = f"ubuntu/images/{kind}/ubuntu-{codename}-{release}-{arch}-server-20261101"
    parameters = (base.format(release), base.format(codename))
    return Image(name, CANONICAL, "ubuntu", AWS_ARCH[arch], "/dev/sda1", parameters)


def _amazon(arch: str) -> Image:
    base = "/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-"
    name = f"al2023-ami-2023.9.20261101.0-kernel-6.12-{arch}"
    return Image(name, AMAZON, "ec2-user", arch, "/dev/xvda", (base + arch,))


IMAGES = (
    *(_ubuntu("22.04", "jammy", arch, "ebs-gp2") for arch in AWS_ARCH),
    *(_ubuntu("24.04", "noble", arch, "ebs-gp3") for arch in AWS_ARCH),
    *(_ubuntu("26.04", "resolute", arch, "ebs-gp3") for arch in AWS_ARCH),
    *(_amazon(arch) for arch in ("x86_64", "arm64")),
)


def lightened() -> tuple[tuple[Any, str, Any], ...]:
    """What moto reads anew with each state or request, and here once: owner, name, replacement.
    There are no images for Elastic Container Service: with each new state moto would make an object
    and a snapshot of 1,200 of them in each region."""
    from moto import backends
    from moto.core import responses
    from moto.ec2.models import amis

    modules, resource = tuple(backends.list_of_moto_modules()), cache(amis.load_resource)

    def images_at(path: str) -> Any:
        found = [] if path.startswith("ec2/resources/ecs/") else resource(path)
        return [dict(image) for image in found]

    return (
        (amis, "load_resource", images_at),
        (backends, "list_of_moto_modules", lambda: modules),
        (responses, "method_names_from_class", cache(responses.method_names_from_class)),
    )


def hook(cloud: Cloud, call: Call, proceed: Proceed) -> Answer:
    """Publish the images before a region is first used."""
    if call.region not in cloud.regions:
        cloud.regions.add(call.region)
        publish(call.response.current_account, call.region)
    answer = proceed()
    if call.service == "ec2" and call.action in {"CreateImage", "RegisterImage"}:
        for ami in call.ec2.amis.values():  # moto says `standard`, which is no type of EC2's
            if ami.root_device_type == "standard":
                ami.root_device_type = "ebs"
    return answer


def publish(account: str, region: str) -> None:
    """Register all images and their parameters."""
    from moto.ec2.models import ec2_backends

    backend = ec2_backends[account][region]
    for image in IMAGES:
        ami = image.ami(region)
        backend.amis[ami] = _registered(backend, image, ami, region)
        for name in image.parameters:
            _set_parameter(account, region, name, ami)


def default_user(backend: Any, ami: str) -> str:
    """Who may log in to a machine of this image."""
    name = backend.amis[ami].name or ""
    return next((image.user for image in IMAGES if image.name == name), "ec2-user")


def _registered(backend: Any, image: Image, ami: str, region: str) -> Any:
    from moto.ec2.models.amis import Ami

    return Ami(
        backend,
        ami,
        name=image.name,
        description=image.name,
        owner_id=image.owner,
        owner_alias="amazon" if image.owner == AMAZON else None,
        public=True,
        virtualization_type="hvm",
        architecture=image.arch,
        hypervisor="xen",
        root_device_type="ebs",
        root_device_name=image.root,
        region_name=f"{region}a",
    )


def _set_parameter(account: str, region: str, name: str, value: str) -> None:
    from moto.core.utils import utcnow
    from moto.ssm.models import Parameter, ssm_backends

    known = ssm_backends[account][region]._parameters
    if name in known:  # Amazon's own are read from moto's files with the first look
        known[name].clear()
    known[name].append(
        Parameter(  # type: ignore[abstract]
            account_id=account, name=name, value=value, parameter_type="String", description=None,
            allowed_pattern=None, keyid=None, last_modified_date=utcnow(), version=1,
            data_type="aws:ec2:image",
        )
    )  # fmt: skip
