"""The Azure plugin of diskbench."""

from diskbench.plugin import Plugin, Redaction
from diskbench.providers.azure.identity import GUEST

PLUGIN = Plugin(
    name="azure",
    title="Azure",
    summary="Machines and managed disks of Microsoft Azure, or of an emulator.",
    provider="diskbench.providers.azure.provider:AzureProvider",
    rents=True,
    options=(
        "diskbench.providers.azure.options:AzureOptions",
        "diskbench.providers.private_network:NetworkOptions",
        "diskbench.providers.emulation:EmulationOptions",
    ),
    account_option="subscription",
    # azure-mgmt-compute 39.0.0, Disk: "MB here uses the ISO notation, of powers of 10".
    throughput_unit_bytes=1_000_000,
    label="Azure",
    guest=GUEST,
    catalogue="diskbench.providers.azure:catalogue",
    quiet_loggers=("azure", "msal"),
    redaction=Redaction(
        variables=(
            "AZURE_SUBSCRIPTION_ID",
            "AZURE_TENANT_ID",
            "AZURE_CLIENT_ID",
            "AZURE_CLIENT_SECRET",
            "AZURE_USERNAME",
            "AZURE_PASSWORD",
            "AZURE_CLIENT_CERTIFICATE_PASSWORD",
        ),
        options=("endpoint_url", "ssh_cidr"),
        fields=(
            "createdBy",
            "lastModifiedBy",
            "displayName",
            "keyData",
            "principalId",
            "tenantId",
            "tags",
        ),
        patterns={r"(?<=/resourceGroups/)(?!diskbench-)[^/?\"'\s]+": "group-{n}"},
    ),
    errors="diskbench.providers.azure.errors:TABLE",
)
