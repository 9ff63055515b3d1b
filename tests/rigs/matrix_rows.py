"""Rows of a matrix as they stand in the store."""

from diskbench.model.campaign import CellRow
from diskbench.model.matrix import Limits
from diskbench.model.options import RentSpec
from diskbench.model.spec import Cell, TargetSpec
from diskbench.store.campaigns import CampaignRow

CAMPAIGN = "01kq8z6rhzaaaaaaaaaaaaaaa0"


def cell_row(position=0, *, provider="aws", partition="aws/us-east-1", **changes):
    target, rent = TargetSpec(kind="device", path="new"), RentSpec(disk="gp2", size_gib=20)
    cell = Cell(provider=provider, target=target, rent=rent, profile="quick")
    values = {"campaign_id": CAMPAIGN, "position": position, "route": provider, "cell": cell}
    values |= {"key": f"{provider}/gp2#{position}", "block": f"{provider}/gp2"}
    values |= {"partition": partition, "expected_s": 600.0, "cost_usd": 1.0}
    return CellRow(**values | changes)


def campaign_row(**changes):
    values = {"campaign_id": CAMPAIGN, "name": "try", "limits": Limits(), "order": "listed"}
    return CampaignRow(**values | {"spec": {"text": "name: try"}} | changes)
