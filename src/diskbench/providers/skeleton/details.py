"""The details of a rental, which a cloud's lookup finds and a plan stores as JSON."""

from pydantic import ConfigDict

from diskbench.model.base import Frozen


class RentalDetails(Frozen):
    """What `acquire` needs beside the spec. A field may be stored under another name, its alias,
    so that plans which earlier versions stored can be read."""

    model_config = ConfigDict(validate_by_name=True, serialize_by_alias=True)
