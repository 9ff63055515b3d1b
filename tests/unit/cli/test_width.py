"""What a person reads fits 80 columns; a word that must be copied whole may be longer."""

import pytest


@pytest.mark.parametrize(
    "command",
    [
        "providers", "profiles list", "profiles show diskspd", "matrix list", "published list",
        "published show iaas-2018/results/gp2", "catalog disks",
        "catalog instances --provider azure", "catalog show Standard_D2s_v3",
        "plan --provider aws --disk gp2 --size 20 --profile sustained --offline", "results list",
        "config",
    ],
)  # fmt: skip
def test_no_line_is_wider(command, diskbench):
    lines = diskbench(*command.split()).splitlines()
    assert [line for line in lines if len(line) > 80 and len(line.split()) > 1] == []
