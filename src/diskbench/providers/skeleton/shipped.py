"""What a cloud's package ships as YAML beside its code: the forms of its names and tags
(names.yaml), what must be permitted (permissions.yaml), and what its errors mean (errors.yaml, read
by providers/error_table.py)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from diskbench.model.options import RentSpec
from diskbench.providers.asked import NameForm, TagForm, check_names, check_tags
from diskbench.providers.error_table import shipped


@dataclass(frozen=True)
class Forms:
    """The forms of a cloud's names, by field of the spec, and of its tags or labels."""

    names: Mapping[str, NameForm]
    tags: TagForm

    def check(self, spec: RentSpec, cloud: str) -> None:
        """Refuse names and tags that the cloud cannot have. Raises InvalidValue."""
        check_names(spec, self.names, cloud)
        check_tags(spec, self.tags, cloud)


def read_forms(package: str) -> Forms:
    """The forms in the names.yaml of a package."""
    content: Any = shipped(package, "names.yaml")
    names = {
        field: NameForm(re.compile(form["pattern"]), form["advice"], form.get("flag"))
        for field, form in content.get("names", {}).items()
    }
    patterns = {key: re.compile(content["tags"].pop(key)) for key in ("key", "value", "reserved")}
    return Forms(names, TagForm(**patterns, **content["tags"]))


def read_permissions(package: str) -> dict[str, Any]:
    """What must be permitted, by the reason or the call, from the permissions.yaml of a package."""
    content: dict[str, Any] = shipped(package, "permissions.yaml")
    return content
