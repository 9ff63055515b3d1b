"""How many examples a search by hypothesis tries where its own number is not the profile's."""

from hypothesis import settings

USUAL = 100
"""What hypothesis tries by default, and what the profile `ci` (script/test --all) does."""


def examples(most: int) -> int:
    """`most` where the profile tries the usual number, and as much fewer as it tries fewer."""
    return max(5, most * settings.default.max_examples // USUAL)
