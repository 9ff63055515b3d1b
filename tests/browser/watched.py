"""What a page did while it was looked at, and what is wrong with it for who cannot see or point."""

from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import ConsoleMessage, Page, Request

SERIOUS = ("serious", "critical")


@dataclass
class Watched:
    """Console errors, uncaught exceptions and requests of a page, from now on."""

    page: Page
    folders: list[Path] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("console", self._said)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", self._asked)

    def strangers(self) -> list[str]:
        """Requests for anything but files in the folders of the pages that were opened."""
        return [url for url in self.requests if not self._is_own(url)]

    def _said(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.errors.append(f"{message.type}: {message.text}")

    def _asked(self, request: Request) -> None:
        self.requests.append(request.url)

    def _is_own(self, url: str) -> bool:
        parts = urlsplit(url)
        if parts.scheme != "file" or parts.netloc:
            return parts.scheme in ("data", "blob", "about")
        return any(Path(unquote(parts.path)).is_relative_to(one) for one in self.folders)


def serious_violations(page: Page) -> list[str]:
    """What axe-core finds of serious or critical impact: the rule and its first elements."""
    found = Axe().run(page).response["violations"]
    return [
        f"{one['id']} ({one['impact']}): {one['help']}: "
        + "; ".join(str(node["html"])[:160] for node in one["nodes"][:5])
        for one in found
        if one["impact"] in SERIOUS
    ]


def shot(page: Page, path: Path) -> Path:
    page.screenshot(path=path, full_page=True)
    return path


def printed(page: Page, path: Path) -> Path:
    page.pdf(path=path, format="A4", print_background=True)
    return path


def overflowing(page: Page) -> int:
    """How many pixels the page is wider than its window; 0 where nothing needs scrolling."""
    return int(
        page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    )


LEAST_PX = 10
"""Letters of this height are readable on a phone. Our choice."""
HARD_TO_READ = """least => [...document.querySelectorAll('.drawing:has(svg)')].flatMap(drawing => {
  const svg = drawing.querySelector('svg'), shown = svg.getBoundingClientRect();
  if (!shown.width) return [];
  const scale = shown.width / svg.viewBox.baseVal.width, box = drawing.getBoundingClientRect();
  const right = Math.max(box.left + drawing.scrollWidth, box.right) + 1;
  const texts = [...svg.querySelectorAll('text')]
    .filter(one => one.textContent.replace(/[\\u2800\\s]/g, ''))
    .map(one => ({ words: one.textContent, at: one.getBoundingClientRect(),
                   px: parseFloat(getComputedStyle(one).fontSize) * scale }));
  const over = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
    && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3;
  return texts.flatMap((one, place) => [
    ...(one.px < least ? [`small: ${one.words}`] : []),
    ...(one.at.right > right || one.at.left < box.left - 1 ? [`cut: ${one.words}`] : []),
    ...texts.slice(place + 1).filter(other => over(one.at, other.at))
      .map(other => `covered: ${one.words} / ${other.words}`),
  ]);
})"""


def hard_to_read(page: Page) -> list[str]:
    """The texts of drawings that are too small, cut off, or lie over each other."""
    found: list[str] = page.evaluate(HARD_TO_READ, LEAST_PX - 0.05)
    return found
