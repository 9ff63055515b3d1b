"""The published site in a browser: from files and from a static host."""

import re
import threading
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import expect
from tests.browser.watched import Watched, hard_to_read, overflowing, serious_violations
from tests.rigs.replicates import measured

from diskbench.cli import main
from diskbench.store.database import open_database

NIGHTS = 12
LEVELS = {"gp2": 3000.0, "gp3": 3000.0, "io1": 8000.0}


@pytest.fixture(scope="module")
def history(tmp_path_factory):
    """Twelve nights of three disks, on two machines each; gp3 loses a fifth in the eighth."""
    place = tmp_path_factory.mktemp("history")
    engine = open_database(f"sqlite:///{place}/rows.db")
    for disk, level in LEVELS.items():
        for night in range(NIGHTS):
            value = level * (0.8 if disk == "gp3" and night >= 8 else 1.0) + night % 3
            facts = {"kernel": "6.5.0"} if night >= 6 else {}
            where = {"disk": disk, "provider": "gcp" if disk == "io1" else "aws"}
            measured(engine, [value, value + 1.5], campaign=night, facts=facts, **where)
    measured(engine, [500.0], campaign=NIGHTS, disk="local", rented=False)
    yield place, engine
    engine.dispose()


@pytest.fixture(scope="module")
def site(history):
    place, _ = history
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(place)
        patched.setenv("DISKBENCH_DATABASE_URL", f"sqlite:///{place}/rows.db")
        store = (place / "evidence").as_uri()
        assert main.main(["publish", "site", "-q", "--evidence-url", store]) == 0
    return place / "site"


@pytest.fixture
def look(page, site):
    """Open a page of the site: `look("index.html")`; it logs no error and asks for nothing else."""
    watched = Watched(page, [site])

    def open_(name, *, width=1280, dark=False):
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme="dark" if dark else "light")
        path, _, view = name.partition("#")
        page.goto((site / path).as_uri() + (f"#{view}" if view else ""))
        return page

    yield open_
    assert watched.errors == []
    assert watched.strangers() == []


def of(site, disk):
    pages = sorted((site / "configurations").iterdir())
    (found,) = [path for path in pages if f" {disk} 20 GiB, quick</h1>" in path.read_text()]
    return f"configurations/{found.name}"


def a_run(site):
    return f"trials/{max(path.name for path in (site / 'trials').iterdir())}"


def column(page, title):
    place = page.locator(".listing thead th").all_inner_texts().index(title) + 1
    cells = page.locator(f".listing tbody tr > :nth-child({place})")
    return cells.evaluate_all("all => all.map(one => one.firstChild?.textContent ?? '')")


def status(page):
    return page.get_by_role("status").first


def test_a_view_of_the_index_is_chosen_and_stands_in_the_address(look):
    page = look("index.html")
    expect(status(page)).to_have_text("4 configurations")
    page.get_by_label("provider").select_option("aws")
    expect(status(page)).to_have_text("2 of 4 configurations")
    assert column(page, "disk") == ["gp2 20 GiB", "gp3 20 GiB"]
    page.get_by_label("over time").select_option("worse")
    assert column(page, "disk") == ["gp3 20 GiB"]
    expect(page).to_have_url(re.compile("#provider=aws&level=worse$"))
    page.get_by_role("button", name="clear").click()
    expect(status(page)).to_have_text("4 configurations")
    expect(page).not_to_have_url(re.compile("#"))


def test_a_view_that_was_sent_on_is_seen_again_also_of_what_is_no_more(look):
    page = look("index.html#provider=aws&sort=-read")
    assert column(page, "disk") == ["gp2 20 GiB", "gp3 20 GiB"]
    expect(page.get_by_label("provider")).to_have_value("aws")
    page.evaluate("location.hash = '#provider=oracle'")
    expect(status(page)).to_have_text("0 of 4 configurations")
    assert page.get_by_label("provider").locator("option:checked").inner_text() == "oracle (0)"


def test_columns_are_sorted_by_value_and_the_other_way_round(look):
    page = look("index.html")
    page.get_by_role("button", name="read IOPS").click()
    assert column(page, "disk")[0] == "io1 20 GiB"
    assert column(page, "read IOPS") == ["8,002", "3,002", "2,402", "500"]
    head = page.locator("th[data-key=read]")
    expect(head).to_have_attribute("aria-sort", "descending")
    page.get_by_role("button", name="read IOPS").click()
    expect(head).to_have_attribute("aria-sort", "ascending")
    assert column(page, "read IOPS")[0] == "500"


def test_a_least_value_is_asked_for_and_stands_in_the_address(look):
    page = look("index.html")
    page.get_by_label("read IOPS, at least").fill("3000")
    expect(status(page)).to_have_text("2 of 4 configurations")
    expect(page).to_have_url(re.compile("#least-read=3000$"))
    page = look("index.html#least-read=5000&sort=-read")
    assert column(page, "disk") == ["io1 20 GiB"]
    expect(page.get_by_label("read IOPS, at least")).to_have_value("5000")


def test_search_takes_all_words_in_any_order(look):
    page = look("runs.html")
    page.get_by_label("search").fill("GP3 quick")
    expect(status(page)).to_have_text(f"{2 * NIGHTS} of {6 * NIGHTS + 1} runs")
    assert set(column(page, "disk")) == {"gp3 20 GiB"}


def test_everything_is_reached_by_keys_alone_and_the_way_past_the_links_keeps_the_view(look):
    page = look("index.html#provider=aws")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#content")).to_be_focused()
    expect(page).to_have_url(re.compile("#provider=aws$"))
    page = look("index.html")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "skip to the content"
    seen = []
    for _ in range(40):
        page.keyboard.press("Tab")
        active = "(document.activeElement.name || document.activeElement.textContent).trim()"
        seen.append(page.evaluate(active))
    for name in ("q", "provider", "clear", "read IOPS", "gp3 20 GiB"):
        assert name in seen
    page.get_by_role("button", name="disk", exact=True).focus()
    page.keyboard.press("Enter")
    expect(page.locator("th[data-key=disk]")).to_have_attribute("aria-sort", "ascending")
    page.get_by_label("search").focus()
    page.keyboard.type("gcp")
    expect(status(page)).to_have_text("1 of 4 configurations")


def test_without_scripts_all_is_there(site, launch_browser):
    browser = launch_browser()
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto((site / "runs.html").as_uri())
    assert page.locator(".listing tbody tr:visible").count() == 6 * NIGHTS + 1
    expect(page.locator(".filters")).to_be_hidden()
    browser.close()


def test_the_index_leads_to_a_configuration_to_a_run_and_back(look):
    page = look("index.html")
    page.get_by_role("link", name="gp3 20 GiB", exact=True).click()
    expect(page.locator("h1")).to_contain_text("gp3 20 GiB")
    page.locator(".listing tbody a").first.click()
    expect(page).to_have_url(re.compile("/trials/.*#row-"))
    page.get_by_role("link", name="history of aws eu-central-1 m7i.large gp3").click()
    expect(page).to_have_url(re.compile("/configurations/"))
    page.get_by_role("link", name="configurations").click()
    expect(status(page)).to_have_text("4 configurations")


def test_a_change_of_level_is_told_where_it_was_and_what_changed_with_it(look, site):
    page = look("index.html")
    told = page.get_by_role("listitem").filter(has_text="worse since")
    assert "3,002 IOPS → 2,402 IOPS (−20.0 %)" in told.inner_text()
    page = look(of(site, "gp3"))
    (changed,) = page.locator("ul.changes li").filter(has_text="IOPS:").all()
    assert "worse since" in changed.inner_text()
    assert "measured 4 times since" in changed.inner_text()
    assert "kernel 6.1.0, 6.5.0 → 6.5.0" in changed.inner_text()
    facts = page.locator("ol.facts li").all_inner_texts()
    assert [one.partition(": ")[2] for one in facts] == ["kernel 6.1.0 → 6.5.0"]


def test_a_chart_has_a_mark_a_trial_and_each_says_its_run(look, site):
    page = look(of(site, "gp3"))
    figure = page.locator("figure", has_text="read").first
    assert figure.locator("[aria-label*=', run 0']").count() == 2 * NIGHTS
    figure.locator("[aria-label*='median of 2 trials']").last.hover()
    expect(page.locator("#tip")).to_contain_text("IOPS, median of 2 trials")


def test_a_chart_without_a_neighbour_has_the_whole_row(look, site):
    charts = look(of(site, "gp3")).locator(".charts:visible")
    figure, drawing = (charts.locator(of).bounding_box() for of in ("figure", "svg"))
    assert figure["width"] == charts.bounding_box()["width"]
    assert drawing["width"] > figure["width"] / 2


def test_the_metric_is_chosen_and_stands_in_the_address(look, site):
    name = of(site, "gp3")
    page = look(name)
    page.get_by_role("radio", name="MB/s").check()
    expect(page).to_have_url(re.compile("#metric=bytes_per_s$"))
    expect(page.locator("section[data-metric=bytes_per_s]")).to_be_visible()
    expect(page.locator("section[data-metric=iops]")).to_be_hidden()
    page = look(f"{name}#metric=bytes_per_s")
    expect(page.get_by_role("radio", name="MB/s")).to_be_checked()


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_is_seriously_wrong_for_who_cannot_see_or_point(look, site, width, dark):
    for name in ("index.html", "runs.html", of(site, "gp3"), a_run(site)):
        page = look(name, width=width, dark=dark)
        assert serious_violations(page) == [], name
        assert overflowing(page) == 0, name
        assert hard_to_read(page) == [], name


def test_paper_shows_the_figures_without_the_controls(look, site):
    page = look(of(site, "gp3"), dark=True)
    page.emulate_media(media="print", color_scheme="dark")
    expect(page.locator(".filters")).to_be_hidden()
    expect(page.locator("figure svg").first).to_be_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@contextmanager
def served(folder):
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def long_list(tmp_path_factory):
    from diskbench.model.history import Best, SiteRunLine
    from diskbench.report.site.frame import Site
    from diskbench.report.site.listings import runs_page

    def line(number):
        ids = {"run_id": f"01k{number:023}", "trial_id": f"01k{number:023}"}
        when = f"2026-{1 + number % 12:02}-{1 + number % 28:02}T10:00:00.000000+00:00"
        where = {"provider": ("aws", "azure", "gcp")[number % 3], "region": f"region-{number % 7}"}
        what = {"disk": f"disk{number % 50:02} 100 GiB", "machine": "m7i.large"}
        what |= {"labels": (("team", f"t{number % 5}"), ("schedule", "nightly"))}
        what |= {"read": Best(value=1000.0 + number, step="rand-read-4k-qd32")}
        what |= {"write": Best(value=900.0 + number % 997, step="rand-write-4k-qd32")}
        told = {"state": "done", "profile": "default", "trust": "yes", "limiter": "disk IOPS"}
        return SiteRunLine(key=f"{number % 50:016}", at=when, **ids, **where, **what, **told)

    lines = list(map(line, range(5000)))
    path = tmp_path_factory.mktemp("long") / "runs.html"
    path.write_bytes(runs_page(Site("Five thousand"), lines, runs=len(lines)))
    return path


def test_of_five_thousand_runs_a_hundred_are_laid_out_and_all_filtered_sorted(opened, long_list):
    page = opened(long_list)
    expect(status(page)).to_have_text("5,000 runs, the first 100 shown")
    assert page.locator(".listing tbody tr").count() == 100
    page.get_by_role("button", name="read IOPS").click()
    assert column(page, "read IOPS")[:2] == ["5,999", "5,998"]
    page.get_by_label("search").fill("t3 disk03")
    expect(status(page)).to_have_text("100 of 5,000 runs")
    page.get_by_role("button", name="clear").click()
    page.get_by_role("button", name="show more").click()
    assert page.locator(".listing tbody tr").count() == 200
    assert page.evaluate("document.activeElement.tagName") == "A"
