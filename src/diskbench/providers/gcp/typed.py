"""Checks of the form of Google Cloud's names: pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from diskbench.errors import InvalidValue
from diskbench.plan.rent_options import field_of
from diskbench.providers.asked import check_lab, check_ssh
from diskbench.providers.gcp.options import GcpOptions
from diskbench.providers.networks import is_loopback

if TYPE_CHECKING:
    from diskbench.model.rental import RentSpec

_NAME = r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?"
_FORMS = {
    "region": (re.compile(r"[a-z]+-[a-z]+[0-9]+"), "europe-west3"),
    "zone": (re.compile(r"[a-z]+-[a-z]+[0-9]+-[a-z]"), "europe-west3-a"),
    "instance_type": (re.compile(r"[a-z][a-z0-9]*-[a-z0-9-]+"), "n2-standard-4"),
    "subnet": (
        re.compile(rf"(projects/[a-z0-9.:-]+/)?(regions/[a-z0-9-]+/subnetworks/)?{_NAME}"),
        "the name of a subnet of that region",
    ),
    "security_group": (re.compile(_NAME), "a network tag that rules of yours go by"),
    "placement": (re.compile(_NAME), "the name of a placement policy of that region"),
    "account": (
        re.compile(r"([a-z0-9.-]+:)?[a-z][a-z0-9-]{4,28}[a-z0-9]"),
        "the id of a project",
    ),
}
_FLAGS = {"account": "--project"}


def check_form(spec: RentSpec) -> None:
    """Raise InvalidValue for a value that Google Cloud cannot have, or that excludes another
    value."""
    for name, (form, example) in _FORMS.items():
        value = getattr(spec, name)
        if value is not None and not form.fullmatch(value):
            flag = _FLAGS.get(name, f"--{name.replace('_', '-')}")
            raise InvalidValue(
                f"{flag} {value!r} is not a valid name in Google Cloud",
                advice=f"it looks like {example}",
                field=field_of(flag),
            )
    if spec.zone is not None and spec.region and spec.zone.rpartition("-")[0] != spec.region:
        raise InvalidValue(
            f"--zone {spec.zone} is not in --region {spec.region}",
            advice=f"use a zone of it, such as {spec.region}-a",
            field="zone",
        )
    check_ssh(spec, "rules of yours are")
    if spec.ssh_cidr is not None and GcpOptions.of(spec).iap:
        raise InvalidValue(
            f"--ssh-cidr {spec.ssh_cidr} cannot be used with --iap: SSH comes from Google's range",
            advice="leave one of them out",
            field="ssh_cidr",
        )
    _check_endpoint(spec)


def _check_endpoint(spec: RentSpec) -> None:
    url = spec.endpoint_url
    if url is not None:
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise InvalidValue(
                f"--endpoint-url {url!r} is not a URL",
                advice="use http://HOST:PORT",
                field="endpoint_url",
            )
        if parts.path.strip("/") or parts.query:
            raise InvalidValue(
                f"--endpoint-url {url!r} has a path; the API's own is added to it",
                advice=f"use {parts.scheme}://{parts.netloc}",
                field="endpoint_url",
            )
        if parts.scheme == "http" and not is_loopback(url):
            raise InvalidValue(
                f"--endpoint-url {url} would send keys in the clear",
                advice="use https, or an emulator on this machine",
                field="endpoint_url",
            )
    emulated = url is not None and is_loopback(url)
    check_lab(spec, emulated=emulated, endpoint="http://127.0.0.1:PORT")
