"""The rig sees what a page does wrong: else all other tests here could not fail."""

from tests.browser.watched import Watched, serious_violations

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
