"""A report as one HTML file that needs nothing but a browser: no network, and no script to be read.

Charts stand in it as SVG whose colours are CSS variables, so that they follow the reader's light or
dark mode. Its one script shows what a mark says (assets/page.js); the page's policy allows that
script by its hash and nothing else. What came from a user, a machine or a cloud is escaped.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from diskbench.report.page_charts import drawn
from diskbench.visible import visible

if TYPE_CHECKING:
    import jinja2

    from diskbench.report.assemble.report_view import Report

_LIGHT = {"--page": "#f7f6f3", "--card": "#ffffff", "--link": "#1d5fb0", "--good": "#2c6e34",
          "--doubt": "#8a5a00", "--doubt-page": "#fff6e0"}  # fmt: skip
_DARK = {"--page": "#161614", "--card": "#201f1d", "--link": "#8ab8f2", "--good": "#7cc486",
         "--doubt": "#f0c465", "--doubt-page": "#2c2516"}  # fmt: skip
MOST_TABLES = 6
"""Subjects that have a table each; more stand in one, a row a step."""


def page(report: Report, *, paper: bool = False) -> str:
    """The report as HTML; for `paper` with fixed colours, and no script."""
    return _template().render(**_words(report, paper=paper))


@cache
def _template() -> jinja2.Template:
    """Compiling it takes longer than a page: a site has thousands."""
    import jinja2

    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=finalized,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.from_string(_asset("page.html.j2"))


def _words(report: Report, *, paper: bool) -> dict[str, Any]:
    from markupsafe import Markup

    single = report.single
    script = "" if paper else _asset("assets/page.js")
    return {
        # Both are files of ours, and hold nothing of anybody's data.
        "style": Markup(f"{colours()}\n{_asset('assets/page.css')}"),  # noqa: S704
        "script": Markup(script),  # noqa: S704
        "script_hash": source_hash(script),
        "report": report,
        "single": single,
        "trials": report.trials if single or report.folded else (),
        "compact": len(report.groups) > MOST_TABLES,
        "over": drawn(report.over, first=len(report.inside) + 1, paper=paper),
        "inside": drawn(report.inside, paper=paper),
        "inside_of": report.inside_of if report.runs > 1 else "",
        "inside_first": bool(single and single.fell and single.fell.run_id),
    }


def finalized(value: object) -> object:
    """What a template writes: text with its control characters visible. Markup is of our making."""
    from markupsafe import Markup

    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def colours() -> str:
    """The page's variables: light, or dark where the system says so and the switch does not."""
    from diskbench.report.charts.palette import DARK, PICTURE, variables

    light, dark = (
        "; ".join(f"{name}: {value}" for name, value in {**own, **variables(palette)}.items())
        for own, palette in ((_LIGHT, PICTURE), (_DARK, DARK))
    )
    return (
        f":root {{ color-scheme: light; {light} }}\n"
        "@media screen and (prefers-color-scheme: dark) {\n"
        f"  :root:not(:has(#colours-light:checked)) {{ color-scheme: dark; {dark} }}\n"
        "}\n"
        f"@media screen {{ :root:has(#colours-dark:checked) {{ color-scheme: dark; {dark} }} }}"
    )


def source_hash(script: str) -> str:
    """What a content security policy names an inline script by (W3C CSP 3, section 2.3.1)."""
    return "sha256-" + b64encode(hashlib.sha256(script.encode()).digest()).decode()


@cache
def _asset(name: str) -> str:
    return files("diskbench.report").joinpath(name).read_text(encoding="utf-8")
