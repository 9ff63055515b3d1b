"""What Stratus brings to diskbench."""

from diskbench.plugin import GuestIdentity, Plugin, Redaction

PLUGIN = Plugin(
    name="stratus",
    title="Stratus",
    summary="Machines and disks of Stratus, a cloud that is invented.",
    provider="diskbench_stratus.provider:StratusProvider",
    rents=True,
    options=("diskbench_stratus.options:StratusOptions",),
    account_option="tenant",
    refuses={
        "spot": "leave it out: Stratus sells no spot machines",
        "placement": "leave it out: Stratus has no placement groups",
    },
    zone_region=r"(sky-\d+)[a-z]",
    guest=GuestIdentity(
        firmware=({"sys_vendor": r"^Stratus Sky$"},),
        proof="cat /run/stratus/instance-id",
        is_instance=lambda printed, instance_id: printed.strip() == instance_id,
    ),
    catalogue="diskbench_stratus:catalogue",
    redaction=Redaction(variables=("STRATUS_TENANT",)),
    errors="diskbench_stratus.errors:TABLE",
)
