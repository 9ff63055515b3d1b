"""Where Azure is, and what a token is asked for there."""

import pytest

from diskbench.errors import InvalidValue
from diskbench.model.options import RentSpec
from diskbench.providers.azure.client import AzureSessions, region_of, token_scope
from diskbench.providers.azure.disk_request import is_azure


@pytest.mark.parametrize(
    ("endpoint", "scope"),
    [
        ("https://management.azure.com", "https://management.azure.com/.default"),
        ("https://eastus.management.azure.com/", "https://management.azure.com/.default"),
        (
            "https://management.usgovcloudapi.net",
            "https://management.core.usgovcloudapi.net/.default",
        ),
        ("https://management.chinacloudapi.cn/", "https://management.chinacloudapi.cn/.default"),
        ("https://127.0.0.1:8443/", "https://127.0.0.1:8443/.default"),
    ],
)
def test_each_cloud_has_an_audience_of_its_own(endpoint: str, scope: str) -> None:
    assert token_scope(endpoint) == scope


def test_a_host_that_only_ends_alike_is_not_azure() -> None:
    assert is_azure("https://westus.management.azure.com")
    assert not is_azure("https://notmanagement.azure.com")
    assert not is_azure("https://management.azure.com.example.org")


def test_results_of_another_endpoint_are_emulated() -> None:
    assert AzureSessions().at("s", None).emulated_endpoint() is None
    assert (
        AzureSessions().at("s", "https://management.usgovcloudapi.net").emulated_endpoint() is None
    )
    assert (
        AzureSessions().at("s", "https://127.0.0.1:1").emulated_endpoint() == "https://127.0.0.1:1"
    )


def test_without_a_subscription_or_region_it_says_where_they_may_stand(monkeypatch) -> None:
    monkeypatch.delenv("AZURE_SUBSCRIPTION_ID", raising=False)
    monkeypatch.delenv("AZURE_DEFAULTS_LOCATION", raising=False)
    with pytest.raises(InvalidValue, match="AZURE_SUBSCRIPTION_ID"):
        AzureSessions().at(None, None)
    with pytest.raises(InvalidValue, match="AZURE_DEFAULTS_LOCATION"):
        region_of(RentSpec(disk="Premium_LRS"))
    monkeypatch.setenv("AZURE_SUBSCRIPTION_ID", "ABC")
    monkeypatch.setenv("AZURE_DEFAULTS_LOCATION", "westeurope")
    assert AzureSessions().at(None, None).subscription == "abc"
    assert region_of(RentSpec(disk="Premium_LRS")) == "westeurope"
