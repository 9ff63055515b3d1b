"""Colours by role: values for a picture, CSS variables for a page.

A page follows its reader's light or dark mode without a script, because its drawings name
variables; `variables` gives a page what to say of them. `series` are near Okabe and Ito's
(jfly.uni-koeln.de/color, 2008), adjusted until colour-blind readers distinguish all of them and
each has a contrast of 3:1 to the page, which a test computes; a mark has a shape or a label
besides.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Any

DIRECTIONS = ("read", "write", "trim", "mixed", "sync")


@dataclass(frozen=True)
class Palette:
    """Colours by role; `directions` in the order read, write, trim, mixed, sync.

    `series` are for what has no direction: providers, regions, machines. `accent` is for what is to
    be seen first, a cliff or a doubt; `band` shades a stretch behind the marks. `heat` are seven
    steps from little to much, even to the eye (in OKLCH lightness), away from the background.
    """

    background: str
    ink: str
    muted: str
    grid: str
    directions: tuple[str, str, str, str, str]
    series: tuple[str, str, str, str, str, str]
    accent: str
    band: str
    heat: tuple[str, str, str, str, str, str, str]

    def direction(self, name: str) -> str:
        """The colour of a direction; `total`, reads and writes together, is `mixed`."""
        return self.directions[DIRECTIONS.index("mixed" if name == "total" else name)]


PICTURE = Palette(
    background="#ffffff",
    ink="#1c1c1a",
    muted="#65645e",
    grid="#e4e3de",
    directions=("#2a78d6", "#d9622b", "#7a5cc7", "#1f9a8a", "#a97a08"),
    series=("#0047a4", "#c68700", "#0fa869", "#b976ac", "#863a00", "#653848"),
    accent="#b3261e",
    band="#f0ece0",
    heat=("#b9f1f0", "#6dd2df", "#17afd0", "#0088b9", "#006297", "#163e6b", "#162139"),
)
DARK = Palette(
    background="#201f1d",
    ink="#f1f0ec",
    muted="#a5a49c",
    grid="#373632",
    directions=("#4f97ee", "#ee7f4b", "#a58bec", "#3fbfae", "#dcae3c"),
    series=("#4f9cf5", "#d38844", "#3fe09a", "#d5a8d7", "#ebea46", "#a67f80"),
    accent="#ff8a80",
    band="#2b2a24",
    heat=("#2c3c5f", "#2b598d", "#1779b3", "#009ccf", "#3bbfdf", "#7dddea", "#c0f8f7"),
)
"""The values of the page's CSS variables in dark mode."""


def variables(palette: Palette) -> dict[str, str]:
    """CSS variable → colour, for all that PAGE names: `--read`, `--series-1`, `--accent` …"""
    return {
        "--ink": palette.ink,
        "--muted": palette.muted,
        "--grid": palette.grid,
        **{
            f"--{name}": colour for name, colour in zip(DIRECTIONS, palette.directions, strict=True)
        },
        **{f"--series-{place}": colour for place, colour in enumerate(palette.series, 1)},
        "--accent": palette.accent,
        "--band": palette.band,
        **{f"--heat-{place}": colour for place, colour in enumerate(palette.heat, 1)},
    }


def _page() -> Palette:
    named = iter(f"var({name})" for name in variables(PICTURE))

    def next_of(some: tuple[str, ...]) -> Any:  # noqa: ANN401 - a tuple of the same length
        return tuple(islice(named, len(some)))

    return Palette(
        background="transparent",
        ink=next(named),
        muted=next(named),
        grid=next(named),
        directions=next_of(PICTURE.directions),
        series=next_of(PICTURE.series),
        accent=next(named),
        band=next(named),
        heat=next_of(PICTURE.heat),
    )


PAGE = _page()
