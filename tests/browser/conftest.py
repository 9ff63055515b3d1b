"""The system's Chromium, driven by pytest-playwright: pages are opened from files, and watched.

Playwright's event loop would stop other tests from starting one. So all that it makes for a session
is made for this folder, which one process has (tests/conftest.py), and is gone at its end."""

import os
import shutil
from types import SimpleNamespace

import pytest
from playwright.sync_api import expect, sync_playwright
from tests.browser.stored import EVIL, Stored
from tests.browser.watched import Watched

LONGEST_MS = 30_000
"""How long a page on a busy machine may take to be as expected; Playwright gives it 5 s."""
CHROMIUMS = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def _pw_artifacts_folder(tmp_path_factory):
    """pytest-playwright's own is removed when the interpreter ends, which warns of it."""
    return SimpleNamespace(name=str(tmp_path_factory.mktemp("playwright")))


@pytest.fixture(scope="package")
def playwright():
    with sync_playwright() as found:
        expect.set_options(timeout=LONGEST_MS)
        yield found


@pytest.fixture(scope="package")
def browser_type(playwright):
    return playwright.chromium


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args):
    path = next(filter(None, map(shutil.which, CHROMIUMS)), None)
    assert path, f"no browser found: install one of {', '.join(CHROMIUMS)}"
    # Chromium refuses to sandbox what root starts, and a container's /dev/shm may be tiny.
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    arguments = [*sandbox, "--disable-dev-shm-usage", "--disable-gpu"]
    return {**browser_type_launch_args, "executable_path": path, "args": arguments}


@pytest.fixture(scope="package")
def launch_browser(browser_type_launch_args, browser_type):
    return lambda **more: browser_type.launch(**{**browser_type_launch_args, **more})


@pytest.fixture(scope="package")
def browser(launch_browser):
    found = launch_browser()
    yield found
    found.close()


@pytest.fixture(scope="package")
def browser_context_args():
    """A laptop without a network, whatever pytest-playwright's options say."""
    return {"viewport": {"width": 1280, "height": 800}, "offline": True, "locale": "en-GB"}


@pytest.fixture
def opened(page):
    """Open a file in the browser: `opened(path)`, `opened(path, width=390, dark=True)`. Whatever
    the page then does, at the end of the test it must have logged no error and asked nobody for
    anything but the files of its own folder."""
    watched = Watched(page)

    def open_(path, *, width=1280, height=800, dark=False):
        watched.folders.append(path.parent)
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme="dark" if dark else "light")
        page.goto(path.as_uri())
        return page

    yield open_
    assert watched.errors == []
    assert watched.strangers() == []


@pytest.fixture(scope="package")
def stored(tmp_path_factory):
    """Two bursts, and a trial of two runs with names that were meant to do harm."""
    found = Stored(tmp_path_factory.mktemp("stored"))
    found.first = found.burst()
    found.burst(number=1)
    found.quick(tmp_path_factory.mktemp("fio"), labels=(("team", EVIL), (EVIL, "red;}</style>")))
    yield found
    found.database.dispose()
