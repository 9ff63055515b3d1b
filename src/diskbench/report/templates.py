"""The frame of every HTML page: templates that escape their values, colours that follow the
reader's light or dark mode, and a content security policy that forbids all network requests."""

import hashlib
from base64 import b64encode
from functools import cache
from importlib.resources import files
from typing import Any

import jinja2
from markupsafe import Markup

from diskbench.report.charts.palette import DARK, LIGHT
from diskbench.visible import visible

_LIGHT = {"--page": "#f7f6f3", "--card": "#ffffff", "--link": "#1d5fb0", "--good": "#2c6e34",
          "--doubt": "#8a5a00", "--doubt-page": "#fff6e0",
          "--shadow": "#0000002e"}  # fmt: skip
_DARK = {"--page": "#161614", "--card": "#201f1d", "--link": "#8ab8f2", "--good": "#7cc486",
         "--doubt": "#f0c465", "--doubt-page": "#2c2516",
         "--shadow": "#ffffff38"}  # fmt: skip
_ROOM = "diskbench.report"


@cache
def environment() -> jinja2.Environment:
    """The environment of this package's templates, which escape every value."""

    def source(name: str) -> str:
        return files(_ROOM).joinpath(name).read_text(encoding="utf-8")

    return jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=finalized,
        loader=jinja2.FunctionLoader(source),
        trim_blocks=True,
        lstrip_blocks=True,
    )


@cache
def asset(name: str) -> str:
    """The text of a script or style sheet of this package."""
    return files(_ROOM).joinpath("assets", name).read_text(encoding="utf-8")


def styled(sheet: str, *scripts: str) -> dict[str, Any]:
    """The values that a standalone page needs: style with the chart colours, scripts and policy."""
    return {
        # All are files of this package and contain no user data.
        "style": Markup(f"{colours()}\n{asset('shared.css')}{asset(sheet)}"),  # noqa: S704
        "scripts": [Markup(script) for script in scripts],  # noqa: S704
        "policy": policy(*scripts),
    }


def policy(*scripts: str) -> Markup:
    """The content security policy of a page: only these scripts run, and nothing is fetched."""
    # The hash source of an inline script (W3C CSP 3, 2.3.1).
    hashes = [b64encode(hashlib.sha256(of.encode()).digest()).decode() for of in scripts]
    allowed = " ".join(f"'sha256-{of}'" for of in hashes) or "'none'"
    return Markup(  # noqa: S704 - made of hashes alone
        f"default-src 'none'; style-src 'unsafe-inline'; script-src {allowed}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def finalized(value: object) -> object:
    """A template's value with control characters made visible; our own Markup unchanged."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def colours() -> str:
    """The page's CSS variables: light, or dark if the system asks for dark and the reader's switch
    does not say otherwise."""
    light, dark = (
        "; ".join(f"{name}: {value}" for name, value in {**own, **chart}.items())
        for own, chart in ((_LIGHT, LIGHT), (_DARK, DARK))
    )
    return (
        f":root {{ color-scheme: light; {light} }}\n"
        "@media screen and (prefers-color-scheme: dark) {\n"
        f"  :root:not(:has(#colours-light:checked)) {{ color-scheme: dark; {dark} }}\n"
        "}\n"
        f"@media screen {{ :root:has(#colours-dark:checked) {{ color-scheme: dark; {dark} }} }}"
    )
