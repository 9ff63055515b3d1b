"""The rig sees what a page does wrong: else all other tests here could not fail."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.browser.watched import Watched, overflowing, printed, serious_violations, shot

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
HEAD = "<!doctype html><html lang=en><meta charset=utf-8><title>t</title>"


def written(tmp_path, body):
    path = tmp_path / "page.html"
    path.write_text(HEAD + body)
    return path


def test_console_errors_and_exceptions_are_seen(page, tmp_path):
    watched = Watched(page)
    page.goto(written(tmp_path, "<script>console.error('a'); throw Error('b')</script>").as_uri())
    assert watched.errors == ["error: a", "b"]


def test_requests_to_others_are_seen(page, tmp_path):
    watched = Watched(page, [tmp_path])
    stranger = tmp_path.parent / "x.png"
    body = f"<img src='http://127.0.0.1:9/a.png'><img src='data:,x'><img src='{stranger.as_uri()}'>"
    page.goto(written(tmp_path, body).as_uri())
    assert watched.strangers() == ["http://127.0.0.1:9/a.png", stranger.as_uri()]


def test_faint_text_and_nameless_buttons_are_serious(page, tmp_path):
    body = "<main><h1>x</h1><p style='color:#ccc;background:#fff'>faint</p><button></button></main>"
    page.goto(written(tmp_path, body).as_uri())
    found = serious_violations(page)
    assert [one.split()[0] for one in found] == ["button-name", "color-contrast"]


def test_a_page_may_forbid_scripts_and_still_be_judged(opened, tmp_path):
    policy = "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'\">"
    page = opened(written(tmp_path, f"{policy}<main><h1>x</h1><button></button></main>"))
    assert [one.split()[0] for one in serious_violations(page)] == ["button-name"]


def test_width_pictures_and_print_are_there(opened, tmp_path):
    page = opened(written(tmp_path, "<main style='width:500px'>x</main>"), width=390)
    assert overflowing(page) >= 110
    assert shot(page, tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert printed(page, tmp_path / "a.pdf").read_bytes().startswith(b"%PDF")


def test_light_and_dark_are_what_was_asked_for(opened, tmp_path):
    dark = "matchMedia('(prefers-color-scheme: dark)').matches"
    path = written(tmp_path, "x")
    assert opened(path, dark=True).evaluate(dark)
    assert not opened(path).evaluate(dark)


def test_other_tests_can_start_an_event_loop_when_the_browser_is_gone(tmp_path):
    after = tmp_path / "test_after.py"
    after.write_text("import asyncio\n\ndef test_loop():\n    asyncio.run(asyncio.sleep(0))\n")
    before = f"{__file__}::{test_light_and_dark_are_what_was_asked_for.__name__}"
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", before, str(after)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert "2 passed" in done.stdout, done.stdout
