"""How far a profile that carries another tool's name gives what that tool gives, figure by figure:
the table of docs/evidence/fidelity.md, in data/fidelity.yaml. A test compares both.
"""

import functools

from diskbench.model.base import Frozen
from diskbench.yaml_lines import packaged

WITHIN = 0.10
"""Ratios this close to 1 are called the same; the page's bound."""


class Fidelity(Frozen):
    """A figure of a tool and ours: steps and directions, the measured ratio (None: not measured)
    with its name on the page, and why they may differ."""

    tool: str
    theirs: tuple[str, str]
    ours: tuple[str, str]
    ratio: float | None = None
    metric: str = ""
    why: str = ""

    @property
    def alike(self) -> bool | None:
        """Whether both gave the same within the page's bound; None where it was not measured."""
        return None if self.ratio is None else abs(self.ratio - 1) <= WITHIN

    def words(self) -> str:
        """What the fidelity table says of this figure, in one sentence."""
        found = f"{self.tool} itself was not run on the same disk as our profile"
        if self.ratio is not None:
            found = (
                f"on the same disk our profile gave {self.ratio:.2f} times what {self.tool} gave"
            )
        if self.alike is False:
            found += ", so a difference of that size is not evidence of different disks"
        return f"{found}{f': {self.why}' if self.why else ''} (docs/evidence/fidelity.md)"


@functools.cache
def fidelity() -> tuple[Fidelity, ...]:
    """All figures with a counterpart, in the order of the file. Reads package data only."""
    figures = packaged("diskbench.catalog", "data/fidelity.yaml")["figures"]
    return tuple(Fidelity.model_validate(figure) for figure in figures)


def of_tool(tool: str) -> tuple[Fidelity, ...]:
    """The figures of a tool; none for one that has no profile of its name."""
    return tuple(figure for figure in fidelity() if figure.tool == tool)
