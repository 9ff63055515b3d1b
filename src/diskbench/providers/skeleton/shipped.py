"""What a cloud's package ships as YAML beside its code: the forms of its names and tags
(names.yaml), what must be permitted (permissions.yaml), what its APIs call things (api.yaml), and
what its errors mean (errors.yaml, read by providers/error_table.py)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from diskbench.model.options import RentSpec
from diskbench.plan.rent_options import flag
from diskbench.providers.asked import NameForm, TagForm, check_names, check_tags, refuse_options
from diskbench.yaml_lines import packaged


@dataclass(frozen=True)
class Forms:
    """The forms of a cloud's names, by field of the spec, and of its tags or labels, and what its
    kinds of disk do not have."""

    names: Mapping[str, NameForm]
    tags: TagForm
    refused: Mapping[str, Sequence[Mapping[str, Any]]]
    """Options that a kind of disk does not have, with why and what to do."""

    def refuse(self, spec: RentSpec, kind: str) -> None:
        """Refuse the options that a disk of that kind does not have. Raises InvalidValue."""
        own = {name: value for group in spec.groups().values() for name, value in group.items()}
        for rule in self.refused[kind]:
            typed = {name: own.get(name, getattr(spec, name, None)) for name in rule["options"]}
            refuse_options(
                {flag(name): value or None for name, value in typed.items()},
                rule["why"].format(disk=spec.disk),
                advice=rule["advice"],
            )

    def check(self, spec: RentSpec, cloud: str) -> None:
        """Refuse names and tags that the cloud cannot have. Raises InvalidValue."""
        check_names(spec, self.names, cloud)
        check_tags(spec, self.tags, cloud)


def read_forms(package: str) -> Forms:
    """The forms in the names.yaml of a package."""
    content = packaged(package, "names.yaml")
    names = {
        field: NameForm(re.compile(form["pattern"]), form["advice"], form.get("flag"))
        for field, form in content.get("names", {}).items()
    }
    tags = content["tags"]
    return Forms(
        names,
        TagForm(
            key=re.compile(tags["key"]),
            value=re.compile(tags["value"]),
            reserved=re.compile(tags["reserved"]),
            most=tags["most"],
            advice=tags["advice"],
        ),
        content.get("refused", {}),
    )


def at(answer: Any, path: str) -> Any:  # noqa: ANN401 - a cloud's JSON
    """The value at a path (`properties.encryption.type`) of a cloud's answer; None where the answer
    has none."""
    for key in path.split("."):
        answer = answer.get(key) if isinstance(answer, dict) else None
    return answer


def facts_of(answer: Any, paths: Mapping[str, str]) -> dict[str, Any]:  # noqa: ANN401 - as `at`
    """The facts in a cloud's answer, by name; `paths` says where each is."""
    return {name: at(answer, path) for name, path in paths.items()}
