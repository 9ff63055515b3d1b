"""What `diskbench matrix schema` prints."""

from __future__ import annotations

from typing import Any

from diskbench.catalog.entry import clouds
from diskbench.catalog.lookup import disk_types
from diskbench.fio.profiles import shipped_names
from diskbench.plan.cells import FILESYSTEMS
from diskbench.plan.matrix_form import matrix_schema, own_values
from diskbench.providers.registry import provider_names


def schema_for_editors() -> dict[str, Any]:
    """The JSON schema of matrix files, with the values that an editor may propose."""
    sold = [name for cloud in clouds() for name in disk_types(cloud)]
    known = {
        "provider": provider_names(),
        "profile": shipped_names(),
        "disk": list(dict.fromkeys([*sold, "root"])),
        "filesystem": FILESYSTEMS,
        **own_values(),
    }
    return matrix_schema(known)
