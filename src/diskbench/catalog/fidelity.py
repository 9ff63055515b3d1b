"""How far a profile that carries another tool's name gives what that tool gives, figure by figure.

The ratios are those of docs/evidence/fidelity.md: ours by the original, on one machine and
throttled disks, on 2026-11-21. A test compares this table with the page.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

WITHIN = 0.10
"""Ratios this close to 1 are called the same; the page's bound."""


@dataclass(frozen=True)
class Fidelity:
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
        if self.alike is None:
            not_run = f"{self.tool} itself was not run on the same disk as our profile"
        elif self.alike:
            not_run = f"on the same disk our profile gave {self.ratio:.2f} of what {self.tool} gave"
        else:
            not_run = (
                f"on the same disk our profile gave {self.ratio:.2f} of what {self.tool} gave, so "
                "a difference of that size is not evidence of different disks"
            )
        return f"{not_run}{f': {self.why}' if self.why else ''} (docs/evidence/fidelity.md)"


_BYTE = (
    "both go byte by byte through the page cache and measure the processor, where fio costs more"
)
_ALIKE = ("write", "read")
_CACHED = "half of the file fits the page cache, and fio's processes take more of that memory"
_UNSYNCED = "it ends without a sync, so much of the file is still in the page cache"
_STAND_IN = "measured with a stand-in that makes GoBonnieGo's system calls"
_RECONSTRUCTED = "our profile is a reconstruction; its command was never published"

FIDELITY: Final = (
    Fidelity("dd", ("dd", "write"), ("dd-write", "write"), 1.027, "dd: write"),
    Fidelity(
        "dd", ("dd", "mixed"), ("dd-write", "write"), 1.027, "dd: write",
        "dd's output does not say whether it wrote; these figures assume that it did",
    ),
    Fidelity(
        "hdparm", ("cached-reads", "read"), ("cached-reads-T", "read"), 0.992,
        "hdparm: cached reads -T", "it measures memory, not the disk",
    ),
    Fidelity(
        "hdparm", ("buffered-reads", "read"), ("buffered-reads-t", "read"), 1.0,
        "hdparm: buffered reads -t",
    ),
    Fidelity(
        "gobonniego", ("seqwrite", "write"), ("seq-write-64k", "write"), 1.05,
        "gobonniego (stand-in): write", f"{_STAND_IN}; {_UNSYNCED}",
    ),
    Fidelity(
        "gobonniego", ("seqread", "read"), ("seq-read-64k", "read"), 0.999,
        "gobonniego (stand-in): read", _STAND_IN,
    ),
    Fidelity(
        "bonnie", ("char-write", "write"), ("char-write", "write"), 0.65, "bonnie: char write",
        _BYTE,
    ),
    Fidelity(
        "bonnie", ("block-write", "write"), ("block-write", "write"), 0.975, "bonnie: block write"
    ),
    Fidelity("bonnie", ("rewrite", "write"), ("rewrite", "write"), 1.017, "bonnie: rewrite"),
    Fidelity(
        "bonnie", ("char-read", "read"), ("char-read", "read"), 0.577, "bonnie: char read", _BYTE
    ),
    Fidelity("bonnie", ("block-read", "read"), ("block-read", "read"), 1.0, "bonnie: block read"),
    Fidelity(
        "bonnie", ("seeks", "read"), ("seeks", "read"), 0.862, "bonnie: seeks", _CACHED
    ),
    *(
        Fidelity(
            "diskspd", ("timespan-1", direction), (f"{kind}-{direction}", direction),
            why=_RECONSTRUCTED,
        )
        for kind in ("write-through", "device-cache")
        for direction in _ALIKE
    ),
)  # fmt: skip
"""Figures that an import of a tool has, with their counterparts in our profile of that name."""


def of_tool(tool: str) -> tuple[Fidelity, ...]:
    """The figures of a tool; none for one that has no profile of its name."""
    return tuple(figure for figure in FIDELITY if figure.tool == tool)
