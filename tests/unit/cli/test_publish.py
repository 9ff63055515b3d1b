"""A site of rows: what is written, what is left alone, what is not told."""

import json
import re
from datetime import datetime
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote
from uuid import UUID
from xml.etree import ElementTree as ET

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.rigs.measured import keep_finished
from tests.rigs.plans import RUN_IDS, make_plan, make_step, run_fio
from tests.rigs.replicates import measured

from diskbench.cli import main
from diskbench.store.database import open_database, transaction
from diskbench.store.result_tables import measurement, trial
from diskbench.store.rows import delete_runs
from diskbench.store.schema import run
from diskbench.store.site_folder import MANIFEST

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("here")]


def publish(*options, site="site"):
    return main.main(["publish", site, "--evidence-url", (Path.cwd() / "e").as_uri(), *options])


def files(site="site"):
    return [path for path in Path(site).rglob("*") if path.is_file()]


def times(site="site"):
    return {str(path.relative_to(site)): path.stat().st_mtime_ns for path in files(site)}


def changed(before, after):
    return {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}


def execute(database, statement):
    with transaction(database) as connection:
        found = connection.execute(statement)
        return found.all() if found.returns_rows else []


def trial_ids(database):
    return sorted(row.trial_id for row in execute(database, trial.select()))


def run_ids(database):
    return sorted(row.run_id for row in execute(database, run.select()))


def trials(site="site"):
    return sorted(Path(site, "trials").iterdir())


def test_a_site_has_an_index_a_page_a_configuration_and_a_page_a_trial(database, capsys):
    measured(database, [1.0, 2.0], disk="gp2", runs=[(1.0, 1.1), (2.0,)])
    measured(database, [3.0], disk="gp3", campaign=1)
    assert publish() == 0
    told = capsys.readouterr()
    assert told.out.strip() == str(Path("site/index.html").absolute())
    assert "4 runs of 2 configurations: 8 files written, 0 unchanged" in told.err
    assert [path.stem for path in trials()] == trial_ids(database)
    anchors = re.findall(r'href="(trials/[^"#]+)#([^"]+)"', Path("site/runs.html").read_text())
    assert {name.removeprefix("row-") for _, name in anchors} == set(run_ids(database))
    assert all(f'id="{name}"' in Path("site", page).read_text() for page, name in anchors)
    assert len(list(Path("site/configurations").iterdir())) == 2


@pytest.mark.parametrize("times", [1, 2])
def test_a_configuration_begins_with_its_picture_and_ends_with_its_provenance(database, times):
    for campaign in range(times):
        measured(database, [1000.0, 2000.0], campaign=campaign)
    publish()
    (page,) = Path("site/configurations").iterdir()
    html = page.read_text()
    of_metric = html[html.index('class="of-metric"') :]
    assert of_metric.index("<svg") < of_metric.index("<table")
    head, _, provenance = html.partition("<summary>Provenance</summary>")
    assert "<dt>parameters</dt><dd>" in head
    assert "<dt>job digest</dt>" in provenance
    assert "parser version" not in head


def test_the_second_time_nothing_is_written_but_with_full_every_page(database, capsys):
    measured(database, [1.0, 2.0])
    publish()
    before = times()
    capsys.readouterr()
    assert publish() == 0
    assert times() == before
    assert "0 files written, 6 unchanged, 0 removed" in capsys.readouterr().err
    page, _ = trials()
    whole = page.read_text()
    page.write_text("x" * page.stat().st_size)
    publish()
    assert page.read_text() != whole
    publish("--full")
    assert page.read_text() == whole


def test_a_new_run_or_a_changed_result_renews_its_own_pages_and_the_listings_alone(database):
    measured(database, [1.0], disk="gp2")
    measured(database, [2.0], disk="gp3")
    publish()
    before = times()
    known = set(trial_ids(database))
    measured(database, [1.1], disk="gp2", campaign=1)
    publish()
    (new,) = set(trial_ids(database)) - known
    found = changed(before, times())
    assert {name for name in found if name.startswith("trials/")} == {f"trials/{new}.html"}
    assert len({name for name in found if name.startswith("configurations/")}) == 1
    assert {"index.html", "runs.html", "feed.xml", MANIFEST} <= found
    assert len(found) == 6
    before = times()
    run_id, trial_id = min((row.run_id, row.trial_id) for row in execute(database, run.select()))
    of_run = measurement.update().where(measurement.c.run_id == run_id)
    execute(database, of_run.values(iops=7777.0))
    publish()
    found = changed(before, times())
    assert {name for name in found if name.startswith("trials/")} == {f"trials/{trial_id}.html"}
    assert len([name for name in found if name.startswith("configurations/")]) == 1
    for name in (f"trials/{trial_id}.html", "runs.html"):
        assert "7,777" in Path("site", name).read_text()


def test_the_pages_of_deleted_runs_go_and_nothing_else(database):
    measured(database, [1.0], disk="gp2")
    measured(database, [2.0], disk="gp3", campaign=1)
    publish()
    Path("site/CNAME").write_text("disks.example")
    delete_runs(database, [run_ids(database)[-1]])
    publish()
    assert len(trials()) == len(run_ids(database)) == 1
    assert len(list(Path("site/configurations").iterdir())) == 1
    assert Path("site/CNAME").read_text() == "disks.example"


def test_a_page_follows_its_rows_its_options_and_the_program(database, monkeypatch):
    measured(database, [1.0])
    publish()
    (page,) = trials()
    before = page.read_text()
    publish("--title", "Our disks")
    assert page.read_text() != before
    execute(database, run.update().values(labels={"shelf": "seven"}))
    publish("--title", "Our disks")
    assert "seven" in page.read_text()
    monkeypatch.setattr("diskbench.report.site.publish._program", lambda: "another")
    page.write_text("x" * page.stat().st_size)
    publish("--title", "Our disks")
    assert "seven" in page.read_text()


def test_filters_choose_what_is_published(database):
    measured(database, [1.0], disk="gp2", labels=[("team", "a")])
    measured(database, [2.0], disk="gp3", labels=[("team", "b")])
    assert publish("--filter", "label.team=a") == 0
    assert "gp3" not in Path("site/index.html").read_text()
    assert len(trials()) == 1


@pytest.mark.usefixtures("database")
def test_a_site_of_nothing_says_so_and_its_feed_is_a_feed():
    assert publish() == 0
    assert "Nothing was measured yet" in Path("site/index.html").read_text()
    publish("--title", "\x1b[1m<b>")
    assert feed().findall(f"{ATOM}entry") == []


@pytest.mark.usefixtures("database")
@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--anonymous", "--with-evidence"), "--anonymous leaves out the evidence"),
        (("--anonymous", "--evidence-base", "https://x.example"), "leaves out the evidence"),
        (("--evidence-base", "javascript:alert(1)"), "not an http:// or https:// URL"),
        (("--site-url", "disks.example"), ""),
    ],
)
def test_evidence_of_an_anonymous_site_and_no_web_addresses_are_refused(capsys, options, told):
    assert publish(*options) == 2
    assert told in capsys.readouterr().err
    assert not Path("site").exists()


SCRIPT = "<script>alert('x')</script>"


def test_labels_and_titles_are_text(database):
    measured(database, [1.0], labels=[("note", SCRIPT), (SCRIPT, "v")])
    publish("--title", f"{SCRIPT}&")
    for path in Path("site").rglob("*.html"):
        assert SCRIPT not in path.read_text()
        assert "alert(&#39;x&#39;)" in path.read_text()


def texts(site="site"):
    return {path: path.read_bytes().decode(errors="replace") for path in files(site)}


SECRETS = {
    "account": "acct-4711", "subnet": "subnet-0abc", "security_group": "sg-0def",
    "ssh_cidr": "192.0.2.7/32", "endpoint_url": "https://cloud.internal.example",
}  # fmt: skip


def test_accounts_networks_and_the_words_of_errors_are_never_told(database):
    measured(database, [1.0])
    (stored,) = execute(database, trial.select())
    rent = stored.plan["cell"]["rent"] | SECRETS
    plan = stored.plan | {"cell": stored.plan["cell"] | {"rent": rent}}
    plan["notes"] = [f"account {SECRETS['account']} is near its quota"]
    execute(database, trial.update().values(plan=plan, rent=rent))
    error = "arn:aws:iam::123456789012:user/jo"
    execute(database, run.update().values(error_kind="AccessDenied", error=error))
    assert publish() == 0
    for path, text in texts().items():
        for secret in (*SECRETS.values(), "123456789012"):
            assert secret not in text, path
    assert "AccessDenied" in "".join(texts().values())


@pytest.mark.parametrize("options", [(), ("--anonymous",)])
def test_an_interrupted_run_says_how_many_of_its_planned_steps_were_measured(database, options):
    measured(database, [1.0])
    execute(database, run.update().values(state="interrupted"))
    assert publish(*options) == 0
    assert "interrupted: 1 of 2 steps measured" in "".join(texts().values())


def test_an_anonymous_site_names_no_host_no_path_and_no_label(database):
    measured(database, [1.0], disk="gp2", labels=[("team", "storage-people")])
    measured(database, [2.0], campaign=1, rented=False, labels=[("team", "storage-people")])
    measured(database, [3.0], campaign=2, rented=False, facts={"hostname": "db1"})
    on_ssh = run.update().where(run.c.provider == "ssh")
    execute(database, on_ssh.values(target_device="/dev/disk/by-id/ours"))
    assert publish("--anonymous") == 0
    for path, text in texts().items():
        for name in ("db1", "/mnt/data", "storage-people", "by-id/ours"):
            assert not re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text), path
    whole = "".join(texts().values())
    assert "machine 1" in whole
    assert "gp2" in whole
    publish("--anonymous", site="again")
    assert texts("again").keys() == {Path("again") / path.relative_to("site") for path in texts()}


@pytest.fixture
def real(here, database, evidence, monkeypatch):
    """A run of fio with its evidence, to which no setting leads."""
    monkeypatch.delenv("DISKBENCH_EVIDENCE_URL")
    plan = make_plan(RUN_IDS[:1], steps=(make_step(0),))
    steps = [(make_step(0), run_fio(here / "fio", make_step(0)))]
    keep_finished(database, evidence, plan, steps)
    return plan.run_ids[0]


def site_of(*options):
    return main.main(["publish", "site", *options])


def test_evidence_is_copied_once_or_when_it_is_gone_and_linked_and_goes_again(real, capsys):
    assert site_of("--with-evidence") == 0
    copied = {path.name for path in Path(f"site/evidence/{real}").rglob("*") if path.is_file()}
    assert {"manifest.json", "plan.json"} <= copied
    links = re.findall(r'href="\.\./(evidence/[^"]+)"', trials()[0].read_text())
    assert len(links) == len(copied)
    assert all((Path("site") / link).is_file() for link in links)
    before = times()
    site_of("--with-evidence")
    assert times() == before
    capsys.readouterr()
    site_of()
    assert not Path("site/evidence").exists()
    assert f"{len(copied)} removed" in capsys.readouterr().err
    site_of("--with-evidence")
    manifest = Path(f"site/evidence/{real}/manifest.json")
    whole = manifest.read_bytes()
    manifest.unlink()
    site_of("--with-evidence")
    assert manifest.read_bytes() == whole


def test_files_whose_names_are_no_addresses_are_linked_all_the_same(tmp_path):
    name = "50% of #1 <b>.json"
    case = Path(__file__).parents[2] / "cases/imported/gobonniego-1.0.9.json"
    (tmp_path / name).write_bytes(case.read_bytes())
    assert main.main(["results", "import", name]) == 0
    assert site_of("--with-evidence") == 0
    page = "".join(path.read_text() for path in trials())
    assert name not in page
    links = {unquote(link) for link in re.findall(r'href="\.\./(evidence/[^"]+)"', page)}
    copied = {str(one.relative_to("site")) for one in Path("site/evidence").rglob("*")}
    assert links
    assert links <= copied


def test_readers_are_led_to_a_public_store_and_never_to_a_directory_of_ones_own(real, tmp_path):
    site_of()
    page = trials()[0].read_text()
    assert str(tmp_path) not in page
    assert f"runs/{real}/ of the publisher" in page
    site_of("--evidence-base", "https://files.example/disks/")
    page = trials()[0].read_text()
    assert f'href="https://files.example/disks/runs/{real}/"' in page


@pytest.mark.usefixtures("real")
def test_a_run_whose_evidence_cannot_be_reached_is_made_again_the_next_time(capsys):
    with pytest.MonkeyPatch.context() as away:
        away.setattr("diskbench.results.run_evidence.EvidenceOfRuns.store", lambda *_: None)
        assert site_of() == 0
    page = f"trials/{trials()[0].name}"
    assert manifest()[page][0] == ""
    assert site_of() == 0
    assert manifest()[page][0]
    capsys.readouterr()
    site_of()
    assert "0 files written" in capsys.readouterr().err


class Figures(HTMLParser):
    """The exact values of a listing: row by row, the title of each number with its value."""

    def __init__(self, html):
        super().__init__()
        self.rows = []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        if tag == "tr":
            self.rows.append({})
        elif "number" in (found.get("class") or "") and "data-v" in found:
            self.rows[-1][found["data-label"]] = float(found["data-v"])


FEW = settings(
    max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@FEW
@given(values=st.lists(st.floats(min_value=0.5, max_value=5e6), min_size=1, max_size=4))
def test_every_figure_of_the_listings_is_the_stores(tmp_path_factory, monkeypatch, values):
    place = tmp_path_factory.mktemp("figures")
    monkeypatch.chdir(place)
    monkeypatch.setenv("DISKBENCH_DATABASE_URL", f"sqlite:///{place}/rows.db")
    engine = open_database(f"sqlite:///{place}/rows.db")
    measured(engine, values)
    engine.dispose()
    assert publish("--quiet") == 0
    found = [row["read IOPS"] for row in Figures(Path("site/runs.html").read_text()).rows[1:]]
    assert sorted(found) == sorted(values)
    ((configuration),) = Figures(Path("site/index.html").read_text()).rows[1:]
    ordered = sorted(values)
    middle = (ordered[(len(values) - 1) // 2] + ordered[len(values) // 2]) / 2
    assert configuration["read IOPS"] == pytest.approx(middle)
    assert configuration["runs"] == configuration["n"] == len(values)


def manifest(site="site"):
    """What the manifest of the site says of each of its files."""
    return json.loads(Path(site, MANIFEST).read_bytes())["files"]


def test_the_manifest_holds_no_more_than_the_pages(database):
    measured(database, [1.0], labels=[("team", "a")])
    publish("--anonymous")
    quoted = [quoted for name, (_, _, quoted) in manifest().items() if name.startswith("trials/")]
    lines = [line for of_trial in quoted for line in of_trial["lines"]]
    assert lines
    assert not any(line.get("labels") for line in lines)


ATOM = "{http://www.w3.org/2005/Atom}"


def feed():
    """The feed as a reader of feeds sees it: what RFC 4287 demands of each is there, once."""
    root = ET.parse("site/feed.xml").getroot()  # noqa: S314 - made by this test
    assert root.tag == f"{ATOM}feed"
    for one in (root, *root.findall(f"{ATOM}entry")):
        (identity,), (updated,) = one.findall(f"{ATOM}id"), one.findall(f"{ATOM}updated")
        assert UUID(identity.text)
        assert datetime.fromisoformat(updated.text).tzinfo is not None
        assert len(one.findall(f"{ATOM}title")) == 1
        assert [link for link in one.findall(f"{ATOM}link") if link.get("rel") == "alternate"]
    assert root.find(f"{ATOM}author/{ATOM}name").text
    return root


def regressed(database):
    for night in range(12):
        measured(database, [3000.0 * (0.7 if night >= 8 else 1.0) + night % 3], campaign=night)


def test_each_mark_of_a_history_and_each_relative_link_of_the_feed_leads_to_its_run(database):
    regressed(database)
    publish()
    (page,) = Path("site/configurations").iterdir()
    links = set(re.findall(r'xlink:href="\.\./(trials/[^"#]+)#([^"]+)"', page.read_text()))
    assert len(links) == 12
    assert all(f'id="{row}"' in Path("site", name).read_text() for name, row in links)
    links = [(link.get("rel"), link.get("href")) for link in feed().iter(f"{ATOM}link")]
    assert "self" not in dict(links)
    assert all((Path("site") / href.partition("#")[0]).is_file() for _, href in links)


def test_the_feed_tells_each_regression_once_and_by_the_same_id(database):
    regressed(database)
    publish("--site-url", "https://disks.example/our")
    root = feed()
    (entry,) = root.findall(f"{ATOM}entry")
    hrefs = [link.get("href") for link in root.iter(f"{ATOM}link")]
    assert all(href.startswith("https://disks.example/our/") for href in hrefs)
    for link in entry.findall(f"{ATOM}link"):
        page = link.get("href").removeprefix("https://disks.example/our/").partition("#")[0]
        assert Path("site", page).is_file()
    measured(database, [2100.0], campaign=12)
    assert publish("--site-url", "https://disks.example/our/", site="elsewhere") == 0
    before = Path("site/feed.xml").read_text()
    Path("site/feed.xml").write_bytes(Path("elsewhere/feed.xml").read_bytes())
    again = feed()
    assert before.count("<entry>") == len(again.findall(f"{ATOM}entry")) == 1
    assert again.find(f"{ATOM}id").text == root.find(f"{ATOM}id").text
    assert again.find(f"{ATOM}entry/{ATOM}id").text == entry.find(f"{ATOM}id").text
