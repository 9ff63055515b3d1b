"""Colours by role. Charts name them as a page's CSS variables, so that its drawings follow the
reader's light or dark mode without a script; a picture has the values of LIGHT.

Series are near Okabe and Ito's (jfly.uni-koeln.de/color, 2008), adjusted until colour-blind readers
distinguish all of them and each has a contrast of 3:1 to the page, which a test computes; a mark
has a shape or a label besides. The accent is for what is to be seen first, a cliff or a doubt; the
band shades a stretch behind the marks. Heat are seven steps from little to much, even to the eye
(in OKLCH lightness), away from the background.
"""

DIRECTIONS = ("read", "write", "trim", "mixed", "sync")
_ROLES = (
    "ink", "muted", "grid", *DIRECTIONS, *(f"series-{n}" for n in range(1, 7)), "accent", "band",
    *(f"heat-{n}" for n in range(1, 8)),
)  # fmt: skip


def _values(words: str) -> dict[str, str]:
    return dict(zip((f"--{role}" for role in _ROLES), words.split(), strict=True))


LIGHT = _values("""
    #1c1c1a #65645e #e4e3de
    #2a78d6 #d9622b #7a5cc7 #1f9a8a #a97a08
    #0047a4 #c68700 #0fa869 #b976ac #863a00 #653848
    #b3261e #f0ece0
    #b9f1f0 #6dd2df #17afd0 #0088b9 #006297 #163e6b #162139
""")
"""CSS variable → colour, on a background of BACKGROUND."""
DARK = _values("""
    #f1f0ec #a5a49c #373632
    #4f97ee #ee7f4b #a58bec #3fbfae #dcae3c
    #4f9cf5 #d38844 #3fe09a #d5a8d7 #ebea46 #a67f80
    #ff8a80 #2b2a24
    #2c3c5f #2b598d #1779b3 #009ccf #3bbfdf #7dddea #c0f8f7
""")
"""In dark mode, on a card of #201f1d."""
BACKGROUND = "#ffffff"
INK, MUTED, GRID, ACCENT, BAND = (
    f"var(--{role})" for role in ("ink", "muted", "grid", "accent", "band")
)
SERIES = tuple(f"var(--series-{n})" for n in range(1, 7))
"""For what has no direction: providers, regions, machines."""
HEAT = tuple(f"var(--heat-{n})" for n in range(1, 8))
OF_DIRECTION = {name: f"var(--{name})" for name in DIRECTIONS} | {"total": "var(--mixed)"}
"""`total` is reads and writes together."""
