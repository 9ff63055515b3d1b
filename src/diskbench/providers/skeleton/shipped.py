"""What a cloud's package ships as YAML beside its code: the forms of its names and tags
(names.yaml), what must be permitted (permissions.yaml), what its APIs call things (api.yaml), and
what its errors mean (errors.yaml, read by providers/error_table.py)."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from diskbench.catalog.machine_book import machine_book
from diskbench.errors import InvalidValue, UnknownName
from diskbench.model.options import RentSpec
from diskbench.plan.rent_options import flag
from diskbench.providers.asked import refuse_options
from diskbench.providers.error_table import refused
from diskbench.units import field_of
from diskbench.yaml_lines import packaged


@dataclass(frozen=True)
class Forms:
    """The forms of a cloud's names, by field of the spec, and of its tags or labels, and what its
    kinds of disk do not have."""

    tags: Mapping[str, Any]
    """Patterns of what the cloud takes as `key` and `value` of a tag or label, and of the
    `reserved` keys, which are ours or the cloud's own; the `most` beside ours; and `advice`."""
    names: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Of each a `pattern`, the `advice` for a value without it, and the `flag` where it is not that
    of the field."""
    refused: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    """Options that a kind of disk does not have, with why and what to do."""
    cloud: str = ""
    """The key of its catalogue."""

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
        """Refuse a name or a tag that the cloud cannot have, and a tag that would replace one of
        ours, by which what was rented is found again. Raises InvalidValue, and UnknownName for a
        misspelt machine type."""
        for name, form in self.names.items():
            value = getattr(spec, name)
            if value is not None and not re.fullmatch(form["pattern"], value):
                typed = form.get("flag") or flag(name)
                words = f"{typed} {value!r} is not a valid name in {cloud}"
                raise InvalidValue(words, advice=form["advice"], field=field_of(typed))
        if (machine := spec.instance_type) and (meant := machine_book(self.cloud).spelt(machine)):
            advice = f"did you mean {meant}?"
            raise UnknownName("machine type", machine, (), advice=advice, field="instance_type")
        tags = self.tags
        for key, value in spec.tags:
            if re.match(tags["reserved"], key):
                raise refused("reserved tag", key=key, value=value)
            if not re.fullmatch(tags["key"], key) or not re.fullmatch(tags["value"], value):
                words = f"--tag {key}={value}: {cloud} does not accept this tag"
                raise InvalidValue(words, advice=tags["advice"], field="tags")
        counts = Counter(key.lower() for key, _ in spec.tags)
        if twice := [key for key, count in counts.items() if count > 1]:
            raise refused("tag given twice", twice=twice)
        if len(spec.tags) > tags["most"]:
            raise refused("too many tags", count=len(spec.tags), cloud=cloud, most=tags["most"])


def read_forms(package: str) -> Forms:
    """The forms in the names.yaml of a package."""
    return Forms(**packaged(package, "names.yaml"), cloud=package.rpartition(".")[2])


def at(answer: Any, path: str) -> Any:  # noqa: ANN401 - a cloud's JSON
    """The value at a path (`properties.encryption.type`) of a cloud's answer; None where the answer
    has none."""
    for key in path.split("."):
        answer = answer.get(key) if isinstance(answer, dict) else None
    return answer


def facts_of(answer: Any, paths: Mapping[str, str]) -> dict[str, Any]:  # noqa: ANN401 - as `at`
    """The facts in a cloud's answer, by name; `paths` says where each is."""
    return {name: at(answer, path) for name, path in paths.items()}
