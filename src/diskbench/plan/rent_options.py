"""What to rent, from options by the names of `run`'s flags: pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from diskbench.errors import InvalidValue
from diskbench.plan.rent_flags import ACCOUNTS, field_of, flag, typed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from diskbench.model.rental import RentSpec

_RENT_FIELDS = {
    "disk": "disk", "iops": "iops", "throughput": "throughput_mib_per_s", "count": "count",
    "stripe": "stripe", "region": "region", "zone": "zone", "instance_type": "instance_type",
    "image": "image", "subnet": "subnet", "security_group": "security_group",
    "placement": "placement", "spot": "spot", "ssh_cidr": "ssh_cidr",
    "endpoint_url": "endpoint_url",
}  # fmt: skip
"""Options of `run` and the fields of RentSpec that they fill."""
_AZURE_FIELDS = {"cache": "cache", "performance_tier": "performance_tier", "bursting": "bursting"}
_VSPHERE_FIELDS = {
    "datastore": "datastore", "storage_policy": "storage_policy", "provisioning": "provisioning",
    "controller": "controller", "vcpus": "vcpus", "memory": "memory_gib", "template": "template",
    "network": "network", "datacenter": "datacenter", "cluster": "cluster", "folder": "folder",
    "resource_pool": "resource_pool", "iops_limit": "iops_limit", "ca_file": "ca_file",
    "insecure": "insecure",
}  # fmt: skip
_LAB_FIELDS = {
    "lab_style": "style", "lab_user": "user", "time_scale": "time_scale", "vm_iops": "vm_iops",
    "vm_throughput": "vm_throughput_mib_per_s", "noise": "noise", "latency": "latency_ms",
    "latency_jitter": "latency_jitter", "stall_every": "stall_every_s", "stall_for": "stall_for_s",
    "lab_seed": "seed",
}  # fmt: skip


def rent_spec(provider: str, options: Mapping[str, Any], *, rents: bool) -> RentSpec | None:
    """What is to be rented; None for a provider that measures machines that are there.

    `options` are by the names of the flags; None and what is missing were not typed. Raises
    InvalidValue for one that means nothing to the provider, or a value out of its range.
    """
    spec = _spec(provider, options)
    if rents:
        return spec.model_copy(update={"size_gib": _whole(options.get("size"))})
    for name, value in typed(spec):
        raise InvalidValue(
            f"{name} {value} does not go with --provider {provider}, which rents nothing",
            advice="name a provider that does: diskbench providers",
            field="provider",
        )
    return None


def check_endpoint(url: str | None, what: str) -> None:
    """Raise InvalidValue for an API endpoint that holds credentials or a query (they may be a
    token): it is written into plans and evidence. Nothing of it is in the message."""
    if url is not None and any(one in url for one in "@?#"):
        raise InvalidValue(
            f"{what} holds credentials or options",
            advice="give https://HOST:PORT alone; credentials come from the cloud's usual "
            "environment variables or files",
        )


def account_of(provider: str, options: Mapping[str, Any]) -> str | None:
    """What is paid by, from the option that the provider calls it by. Raises InvalidValue for
    another cloud's."""
    for cloud, name in ACCOUNTS.items():
        value: str | None = options.get(name)
        if value is not None:
            if cloud != provider:
                raise InvalidValue(
                    f"{flag(name)} {value} does not go with --provider {provider}",
                    advice=f"it is {cloud}'s",
                    field=field_of(flag(name)),
                )
            return value
    return None


def _spec(provider: str, options: Mapping[str, Any]) -> RentSpec:
    from pydantic import ValidationError

    from diskbench.model.rental import AzureSpec, LabSpec, RentSpec, VsphereSpec

    check_endpoint(options.get("endpoint_url"), "--endpoint-url")
    vsphere = _picked(options, _VSPHERE_FIELDS)
    if provider == "vsphere" and options.get("host"):
        vsphere["esxi_host"] = options["host"][0]
    try:
        return RentSpec(
            **_picked(options, _RENT_FIELDS),
            account=account_of(provider, options),
            azure=AzureSpec(**_picked(options, _AZURE_FIELDS)),
            vsphere=VsphereSpec(**vsphere),
            lab=LabSpec(**_picked(options, _LAB_FIELDS)),
        )
    except ValidationError as error:
        first = error.errors()[0]
        raise InvalidValue(
            f"{flag(str(first['loc'][-1]))} {first['input']}: {first['msg']}",
            advice="see diskbench run --help",
            field=field_of(flag(str(first["loc"][-1]))),
        ) from error


def _picked(options: Mapping[str, Any], fields: Mapping[str, str]) -> dict[str, Any]:
    """The fields whose option was typed."""
    return {field: options[name] for name, field in fields.items() if options.get(name) is not None}


def _whole(size_gib: float | None) -> int | None:
    """The size of a disk; clouds sell whole GiB."""
    if size_gib is None:
        return None
    if size_gib < 1 or size_gib != int(size_gib):
        raise InvalidValue(
            f"--size {size_gib:g}: a disk is rented in whole GiB",
            advice="give 1 or more",
            field="size",
        )
    return int(size_gib)
