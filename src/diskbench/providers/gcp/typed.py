"""Checks of the form of Google Cloud's names: pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from diskbench.errors import InvalidValue
from diskbench.providers.asked import NameForm, check_endpoint, check_lab, check_names, check_ssh
from diskbench.providers.gcp.options import GcpOptions
from diskbench.providers.networks import is_loopback

if TYPE_CHECKING:
    from diskbench.model.options import RentSpec

_NAME = r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?"
_FORMS = {
    "region": NameForm(re.compile(r"[a-z]+-[a-z]+[0-9]+"), "it looks like europe-west3"),
    "zone": NameForm(re.compile(r"[a-z]+-[a-z]+[0-9]+-[a-z]"), "it looks like europe-west3-a"),
    "instance_type": NameForm(
        re.compile(r"[a-z][a-z0-9]*-[a-z0-9-]+"), "it looks like n2-standard-4"
    ),
    "subnet": NameForm(
        re.compile(rf"(projects/[a-z0-9.:-]+/)?(regions/[a-z0-9-]+/subnetworks/)?{_NAME}"),
        "it looks like the name of a subnet of that region",
    ),
    "security_group": NameForm(
        re.compile(_NAME), "it looks like a network tag that rules of yours go by"
    ),
    "placement": NameForm(
        re.compile(_NAME), "it looks like the name of a placement policy of that region"
    ),
    "account": NameForm(
        re.compile(r"([a-z0-9.-]+:)?[a-z][a-z0-9-]{4,28}[a-z0-9]"),
        "it looks like the id of a project",
        "--project",
    ),
}


def check_form(spec: RentSpec) -> None:
    """Raise InvalidValue for a value that Google Cloud cannot have, or that excludes another
    value."""
    check_names(spec, _FORMS, "Google Cloud")
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
    check_endpoint(url, "keys")
    if url is not None:
        parts = urlsplit(url)
        if parts.path.strip("/") or parts.query:
            raise InvalidValue(
                f"--endpoint-url {url!r} has a path; the API's own is added to it",
                advice=f"use {parts.scheme}://{parts.netloc}",
                field="endpoint_url",
            )
    emulated = url is not None and is_loopback(url)
    check_lab(spec, emulated=emulated, endpoint="http://127.0.0.1:PORT")
