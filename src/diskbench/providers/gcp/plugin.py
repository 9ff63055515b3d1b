"""The Google Cloud plugin of diskbench, its options, and how a guest shows that it is Google's."""

from typing import ClassVar

from diskbench.model.options import Options, option
from diskbench.plugin import GuestIdentity, Plugin, Redaction


class GcpOptions(Options):
    """Who pays, and how a machine without a public address is reached."""

    group: ClassVar[str] = "gcp"
    panel: ClassVar[str] = "Google Cloud"

    project: str | None = option(
        None, "Project (default: that of the credentials).", metavar="ID", in_key="no", scopes=True
    )
    iap: bool = option(
        default=False,
        about="Reach the machine by IAP TCP forwarding, without a public address; needs gcloud.",
        flag="--iap",
        in_key="no",
    )


_ASK = """
curl=$(command -v curl) || exit 0
"$curl" -sf -m 3 --noproxy '*' -H 'Metadata-Flavor: Google' \\
    http://169.254.169.254/computeMetadata/v1/instance/{}
"""
_PROOF, _MACHINE_TYPE = _ASK.format("id"), _ASK.format("machine-type")
"""The header excludes forged requests from a guest (Compute Engine, "VM metadata")."""


GUEST = GuestIdentity(
    firmware=({"sys_vendor": "^Google$", "product_name": "Google"},),
    proof=_PROOF,
    machine_type=_MACHINE_TYPE,
    is_instance=lambda printed, instance_id: printed.strip() == instance_id,
    network_nvme_models=("nvme_card-pd",),
)


_PUBLIC = (
    "ubuntu-os-cloud", "debian-cloud", "rocky-linux-cloud", "rhel-cloud", "suse-cloud",
    "centos-cloud", "cos-cloud",
)  # fmt: skip
"""Google's own projects of public images."""

PLUGIN = Plugin(
    name="gcp",
    title="Google Cloud",
    summary="Machines and disks of Google Cloud's Compute Engine, or of an emulator.",
    provider="diskbench.providers.gcp.cloud:GCPProvider",
    rents=True,
    options=(
        "diskbench.providers.gcp.plugin:GcpOptions",
        "diskbench.providers.options:NetworkOptions",
        "diskbench.providers.options:EmulationOptions",
    ),
    account_option="project",
    zone_region=r"([a-z]+-[a-z]+\d+)-[a-z]",
    label="Google",
    guest=GUEST,
    catalogue="diskbench.providers.gcp:catalogue",
    quiet_loggers=("google",),
    redaction=Redaction(
        variables=("GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CLOUD_PROJECT"),
        options=("endpoint_url", "ssh_cidr"),
        fields=("defaultServiceAccount", "commonInstanceMetadata", "metadata", "labels", "etag"),
        patterns={
            r"(?<=projects/)(?:[a-z0-9-]+\.[a-z0-9.-]+:)?[a-z0-9][a-z0-9-]*": "project-{n}",
            r"(?<=project[ '\"])[a-z][a-z0-9-]{5,29}": "project-{n}",
            r"(?<=service-)\d{6,}": "{n:012d}",
            r"(?<=[Pp]roject number )\d+": "{n:012d}",
        },
        public=_PUBLIC,
    ),
    errors="diskbench.providers.gcp.errors:TABLE",
)
