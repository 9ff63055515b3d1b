"""Where Azure is, and what a token is asked for there."""

import importlib
from urllib.parse import parse_qs, urlsplit

import pytest
from azure.core.exceptions import ServiceRequestError

from diskbench.errors import InvalidValue, Throttled
from diskbench.model.options import RentSpec
from diskbench.providers.azure import client
from diskbench.providers.azure.client import AzureSessions, kind_of
from diskbench.providers.azure.disk_request import is_azure

GOVERNMENT = "https://management.usgovcloudapi.net"


def test_each_cloud_has_an_audience_of_its_own():
    for endpoint, scope in [
        ("https://management.azure.com", "https://management.azure.com/.default"),
        ("https://eastus.management.azure.com/", "https://management.azure.com/.default"),
        (GOVERNMENT, "https://management.core.usgovcloudapi.net/.default"),
        ("https://management.chinacloudapi.cn/", "https://management.chinacloudapi.cn/.default"),
        ("https://127.0.0.1:8443/", "https://127.0.0.1:8443/.default"),
    ]:
        assert client.token_scope(endpoint) == scope


def test_a_host_that_only_ends_alike_is_not_azure_and_results_of_another_are_emulated():
    assert is_azure("https://westus.management.azure.com")
    assert not is_azure("https://notmanagement.azure.com")
    assert not is_azure("https://management.azure.com.example.org")
    local, sessions = "https://127.0.0.1:1", AzureSessions()
    told = [sessions.at("s", url).emulated_endpoint() for url in (None, GOVERNMENT, local)]
    assert told == [None, None, local]
    group = "/subscriptions/0/resourceGroups/g"
    assert kind_of(group) == "Microsoft.Resources/subscriptions/resourceGroups"
    assert kind_of(f"{group}/resources") == f"{kind_of(group)}/resources"


def test_without_a_subscription_or_region_it_says_where_they_may_stand(monkeypatch):
    monkeypatch.delenv("AZURE_SUBSCRIPTION_ID", raising=False)
    monkeypatch.delenv("AZURE_DEFAULTS_LOCATION", raising=False)
    with pytest.raises(InvalidValue, match="AZURE_SUBSCRIPTION_ID"):
        AzureSessions().at(None, None)
    with pytest.raises(InvalidValue, match="AZURE_DEFAULTS_LOCATION"):
        client.region_of(RentSpec(disk="Premium_LRS"))
    monkeypatch.setenv("AZURE_SUBSCRIPTION_ID", "ABC")
    monkeypatch.setenv("AZURE_DEFAULTS_LOCATION", "westeurope")
    assert AzureSessions().at(None, None).subscription == "abc"
    assert client.region_of(RentSpec(disk="Premium_LRS")) == "westeurope"


GROUP = ("g", "n", "s")
SENT = {
    "Microsoft.Compute/virtualMachines": ("compute", "virtual_machines_get", GROUP),
    "Microsoft.Compute/disks": ("compute", "disks_get", GROUP),
    "Microsoft.Compute/snapshots": ("compute", "snapshots_get", GROUP),
    "Microsoft.Compute/diskEncryptionSets": ("compute", "disk_encryption_sets_get", GROUP),
    "Microsoft.Compute/galleries/images": ("compute", "gallery_images_get", ("g", "a", "i", "s")),
    "Microsoft.Compute/images": ("compute", "images_get", GROUP),
    "Microsoft.Compute/skus": ("compute", "resource_skus_list", ("s",)),
    "Microsoft.Compute/locations/usages": ("compute", "usage_list", ("r", "s")),
    "Microsoft.Network/networkInterfaces": ("network", "network_interfaces_get", GROUP),
    "Microsoft.Network/locations/usages": ("network", "usages_list", ("r", "s")),
    "Microsoft.Resources/subscriptions/providers": (
        "resource.resources", "providers_get", ("Microsoft.Compute", "s"),
    ),
    "Microsoft.Resources/tags": ("resource.resources", "tags_update_at_scope", ("scope",)),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("kind", SENT)
def test_a_request_has_the_path_and_the_version_of_the_sdks_own(kind):
    package, name, arguments = SENT[kind]
    operations = importlib.import_module(f"azure.mgmt.{package}.operations._operations")
    url = urlsplit(getattr(operations, f"build_{name}_request")(*arguments).url)
    assert kind_of(url.path).lower() == kind.lower()
    assert parse_qs(url.query)["api-version"] == [client.version_of(kind)]


def test_what_a_user_types_is_no_part_of_a_query():
    seen: list[str] = []

    class Client:
        format_url = staticmethod(str)

        def send_request(self, request, **_):
            seen.append(request.url)
            raise ServiceRequestError("nobody is there")

    azure, path = client.Azure("0", None), "/subscriptions/0/resourceGroups/a?b c/resources"
    azure.__dict__["client"] = Client()
    with pytest.raises(Throttled):
        azure.edge(client.AzureTiming(retry_s=0)).get(path)
    (url,) = seen
    assert url.startswith("/subscriptions/0/resourceGroups/a%3Fb%20c/resources?api-version=")
