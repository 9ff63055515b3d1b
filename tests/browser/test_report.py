"""Reports of stored runs as readers have them: in the dark, on a phone, by keyboard, on paper."""

import re

import pytest
from playwright.sync_api import Locator, expect
from tests.browser.stored import EVIL
from tests.browser.watched import hard_to_read, overflowing, printed, serious_violations, shot
from tests.rigs.plans import RUN_IDS

# Scrolls, and waits until whoever listens for it has heard of it.
SCROLLED = """by => new Promise(heard => {
  document.addEventListener('scroll', () => requestAnimationFrame(heard), { once: true });
  scrollBy(0, by);
})"""


@pytest.fixture(scope="package")
def burst(stored):
    return stored.report("burst/report.html", stored.first)


@pytest.fixture(scope="package")
def quick(stored):
    return stored.report("quick/report.html", RUN_IDS[0])


@pytest.fixture(scope="package")
def both(stored):
    return stored.report("both/report.html", "2026-01-01..")


def test_a_stranger_reads_what_was_bought_what_it_gave_and_why_it_slowed_down(opened, burst):
    page = opened(burst)
    verdict = page.locator(".verdict").inner_text()
    assert "gp2 of 20 GiB" in verdict
    assert "100 IOPS, bursts to 3,000 for 31 min" in verdict
    assert "for 31 min" in verdict
    assert "its burst credit was used up" in verdict
    assert (
        "5,400,000 I/Os"
        in page.get_by_role("heading", name="Why it slowed down").locator("..").inner_text()
    )


@pytest.mark.parametrize("name", ["burst", "quick", "both"])
@pytest.mark.parametrize(("width", "dark"), [(390, True), (1280, False)])
def test_a_report_is_readable_everywhere_and_for_everybody(opened, request, name, width, dark):
    page = opened(request.getfixturevalue(name), width=width, dark=dark)
    assert overflowing(page) == 0
    assert hard_to_read(page) == []
    drawings = page.locator("figure .drawing")
    assert drawings.count()
    for drawing in drawings.all():
        marks = drawing.locator("[role=graphics-symbol][aria-label]")
        assert marks.count(), drawing.get_attribute("aria-label")
    for folded in page.locator("details").all():
        folded.evaluate("one => one.open = true")
    assert serious_violations(page) == []


def test_a_mark_shows_its_run_and_values_under_the_pointer(opened, burst):
    page = opened(burst)
    mark = page.locator("figure .role-mark [role=graphics-symbol][aria-label]").last
    mark.scroll_into_view_if_needed()
    mark.hover(force=True)
    expect(page.locator("#tip")).to_have_text(mark.get_attribute("aria-label"))


def test_marks_are_reached_by_keys_and_lead_to_their_rows(opened, both):
    page = opened(both)
    page.locator("figure .drawing[tabindex='0']").first.focus()
    page.keyboard.press("ArrowRight")
    tip = page.locator("#tip")
    expect(tip).to_be_visible()
    first = tip.inner_text()
    page.keyboard.press("End")
    expect(tip).not_to_have_text(first)
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("#row-"))
    expect(page.locator(f"[id='{page.url.partition('#')[2]}']")).to_be_visible()


def test_what_a_mark_says_stays_with_it_while_the_page_scrolls(opened, both):
    page = opened(both, height=500)
    page.locator("figure .drawing[tabindex='0']").first.focus()
    page.keyboard.press("ArrowRight")
    tip = page.locator("#tip")
    expect(tip).to_be_visible()
    for pixels in (40, 80, -60):
        page.evaluate(SCROLLED, pixels)
        expect(tip).to_be_visible()
        told, mark = tip.bounding_box(), page.locator(":focus").bounding_box()
        middle = mark["y"] + mark["height"] / 2
        assert min(abs(told["y"] - middle), abs(told["y"] + told["height"] - middle)) < 20
    page.evaluate(SCROLLED, -5000)
    expect(tip).to_be_hidden()


def test_every_link_on_the_page_leads_to_something_there(opened, both):
    page = opened(both)
    links = "[...document.querySelectorAll('a')].map(a => a.href.baseVal ?? a.getAttribute('href'))"
    inner = {one for one in page.evaluate(links) if not one.startswith("file://")}
    assert inner
    for one in inner:
        assert one.startswith("#"), one
        assert page.evaluate("id => !!document.getElementById(id)", one.removeprefix("#")), one


def test_without_its_script_a_page_tells_everything_and_switches_its_colours(browser, burst):
    page = browser.new_page(java_script_enabled=False, color_scheme="light")
    page.goto(burst.as_uri())
    expect(page.locator("figure svg").first).to_be_visible()
    assert page.locator("table.results tbody tr").count() == 2

    def background():
        return page.locator("body").evaluate("one => getComputedStyle(one).backgroundColor")

    light = background()
    page.get_by_label("dark", exact=True).check()
    dark = background()
    assert dark != light
    page.emulate_media(color_scheme="dark")
    page.get_by_label("light", exact=True).check()
    assert background() == light
    page.get_by_label("as the system").check()
    assert background() == dark
    page.close()


def test_everything_that_can_be_used_is_reached_by_the_tab_key(opened, burst):
    page = opened(burst)
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.tagName") == "BODY":
            break
    else:
        pytest.fail("the tab key never came to the end")
    stops = page.locator("summary, .drawing[tabindex], .scroll, input[type=radio]:checked")
    for one in filter(Locator.is_visible, stops.all()):
        one.focus()
        assert one.evaluate("one => one === document.activeElement")


def test_what_users_typed_is_shown_as_text(opened, quick, both):
    dialogs = []
    for path in (quick, both):
        page = opened(path)
        page.on("dialog", lambda dialog: dialogs.append(dialog.message))
        for folded in page.locator("details").all():
            folded.evaluate("one => one.open = true")
        assert f"team = {EVIL}" in page.locator("main").inner_text()
        assert page.locator("main script, main img").count() == 0
        assert dialogs == []


def test_paper_shows_what_is_folded(opened, burst, tmp_path):
    page = opened(burst)
    folded = page.locator("pre")
    expect(folded).to_be_hidden()
    assert printed(page, tmp_path / "a.pdf").stat().st_size > 10_000
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    expect(folded).to_be_visible()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    expect(folded).to_be_hidden()


def test_on_a_phone_a_result_is_a_list_of_named_figures(opened, burst, tmp_path):
    page = opened(burst, width=390)
    cell = page.locator("table.results tbody tr").first.locator("td").first
    assert cell.evaluate("one => getComputedStyle(one, '::before').content") == '"IOPS"'
    assert page.locator("table.results thead").bounding_box()["height"] <= 1
    assert shot(page, tmp_path / "a.png").stat().st_size > 10_000
