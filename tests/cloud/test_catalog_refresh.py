"""Limits as the emulated clouds tell them, laid over the shipped catalogue.

Prices come from price lists that no emulator has: tests/unit/providers/*/test_refresh.py.
"""

from __future__ import annotations

import pytest
from tests.books import SHIPPED
from tests.cloud.rented import Aws
from tests.cloud.rented_azure import Azure

from diskbench.catalog.books import Books
from diskbench.providers.aws import refresh as of_aws
from diskbench.providers.azure import refresh as of_azure

pytestmark = pytest.mark.slow
TODAY = "2026-11-21"


def test_what_ec2_describes_is_what_the_catalogue_was_made_of(aws: Aws) -> None:
    known = SHIPPED.of("aws")
    shipped = dict(known.machines.types)
    pages = aws.client().get_paginator("describe_instance_types").paginate()
    types = [one for page in pages for one in page["InstanceTypes"]]
    book = Books((of_aws.overlay(known, types, [], [], TODAY),)).of("aws")
    types_of = book.machines.types
    refreshed = {name for name, one in types_of.items() if one.source == "refreshed-types"}
    assert refreshed
    for name in refreshed:
        before, after = shipped[name], types_of[name]
        assert after.iops == before.iops, name
        assert after.mb_per_s == before.mb_per_s, name
        assert after.vcpus == before.vcpus, name
        assert book.prices.machine_price(name) == known.prices.machine_price(name), name


def test_what_azure_tells_of_its_sizes_is_what_the_catalogue_was_made_of(azure: Azure) -> None:
    known = SHIPPED.of("azure")
    shipped = dict(known.machines.types)
    listed = azure.compute.resource_skus.list(filter="location eq 'eastus'")
    skus = [one.as_dict() for one in listed]
    book = Books((of_azure.overlay(known, skus, [], [], TODAY),)).of("azure").machines
    refreshed = {name for name, one in book.types.items() if one.source == "refreshed-skus"}
    assert refreshed & set(shipped)
    for name in refreshed & set(shipped):
        assert book.types[name].vcpus == shipped[name].vcpus, name
        assert book.types[name].iops == shipped[name].iops, name
