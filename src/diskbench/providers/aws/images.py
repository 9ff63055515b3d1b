"""The machine image: the newest Ubuntu, else the newest Amazon Linux."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from diskbench.errors import DiskbenchError, InvalidValue
from diskbench.providers.aws.errors import error_code
from diskbench.providers.aws.resolved import AwsImage

if TYPE_CHECKING:
    from diskbench.providers.aws.client import AwsClient

_PARAMETERS = {
    "ubuntu": {
        arch: f"/aws/service/canonical/ubuntu/server/24.04/stable/current/{name}/hvm/ebs-gp3/ami-id"
        for arch, name in (("x86_64", "amd64"), ("arm64", "arm64"))
    },
    "amazon-linux": {
        arch: f"/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-{arch}"
        for arch in ("x86_64", "arm64")
    },
}
"""In order of preference. Source: PerfKitBenchmarker's AWS virtual machines, 2026-08-20."""
_USERS = {
    "099720109477": "ubuntu",  # Canonical
    "136693071363": "admin",  # Debian
    "792107900819": "rocky",
    # Canonical in GovCloud and in China ("Finding Ubuntu images with the AWS Command Line
    # Interface", Canonical's documentation, read 2026-11-23).
    "513442679011": "ubuntu",
    "837727238323": "ubuntu",
}
"""The default user of images by their owner; ec2-user elsewhere. Source as above."""
_DEFAULT_USER = "ec2-user"
_NAMED_USERS = {"ubuntu": "ubuntu"}
"""The user of images that were found by their SSM parameter: their owner differs by partition."""


def find_image(ec2: AwsClient, ssm: AwsClient, typed: str | None, arch: str) -> AwsImage:
    """The image of `--image`: an AMI, an SSM parameter, `ubuntu` or `amazon-linux`; without the
    option, the first of these two that the region offers. Raises InvalidValue."""
    if typed is None:
        return _first_known(ec2, ssm, arch)
    if typed.startswith("ami-"):
        return _image(ec2, typed)
    if typed.startswith("/"):
        return _image(ec2, _parameter(ssm, typed))
    if typed in _PARAMETERS:
        return _named(ec2, ssm, typed, arch)
    raise InvalidValue(
        f"--image {typed!r} is not an image",
        advice="give ami-…, an SSM parameter (/aws/service/…), ubuntu or amazon-linux",
        field="image",
    )


def _first_known(ec2: AwsClient, ssm: AwsClient, arch: str) -> AwsImage:
    tried = []
    for name, parameters in _PARAMETERS.items():
        try:
            return _named(ec2, ssm, name, arch)
        except DiskbenchError as error:
            if error_code(error) != "ParameterNotFound":
                raise
            tried.append(parameters[arch])
    raise InvalidValue(
        f"this region names no image: {', '.join(tried)} do not exist", advice="add --image ami-…"
    )


def _named(ec2: AwsClient, ssm: AwsClient, name: str, arch: str) -> AwsImage:
    image = _image(ec2, _parameter(ssm, _PARAMETERS[name][arch]))
    return image.model_copy(update={"user": _NAMED_USERS.get(name, image.user)})


def _parameter(ssm: AwsClient, name: str) -> str:
    return str(ssm.call("get_parameter", {"Name": name})["Parameter"]["Value"])


def _image(ec2: AwsClient, image_id: str) -> AwsImage:
    images = ec2.listed("describe_images", "Images", {"ImageIds": [image_id]})
    if not images:
        raise InvalidValue(
            f"there is no image {image_id} in this region", advice="images belong to one region"
        )
    image: dict[str, Any] = images[0]
    if image.get("RootDeviceType") != "ebs":
        raise InvalidValue(
            f"{image_id} starts from {image.get('RootDeviceType')}, not from an EBS volume",
            advice="use another --image",
        )
    root = str(image["RootDeviceName"])
    mapped: dict[str, Any] = next(
        (m["Ebs"] for m in image.get("BlockDeviceMappings", []) if m.get("DeviceName") == root), {}
    )
    return AwsImage(
        id=image_id,
        name=str(image.get("Name", "")),
        arch=str(image.get("Architecture", "x86_64")),
        root_device=root,
        root_gib=int(mapped.get("VolumeSize", 8)),
        product=next(
            (
                str(code["ProductCodeId"])
                for code in image.get("ProductCodes", [])
                if code.get("ProductCodeType") == "marketplace"
            ),
            None,
        ),
        user=_USERS.get(str(image.get("OwnerId")), _DEFAULT_USER),
    )
