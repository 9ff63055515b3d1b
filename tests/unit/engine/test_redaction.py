"""What is private is not in a recording, whatever it is and wherever it stands."""

import json
import string
from urllib.parse import quote, urlencode

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.rigs.matrix_rows import CAMPAIGN, campaign_row, cell_row

from diskbench.catalog.books import Overlay
from diskbench.engine.matrix.admission import admit_cells
from diskbench.engine.matrix.cells import LiveCells
from diskbench.engine.redaction import SHORT, Cleaner
from diskbench.engine.session import open_session
from diskbench.engine.trial.stop import Stop
from diskbench.model.finding import Exchange
from diskbench.model.options import RentSpec
from diskbench.model.spec import Cell, TargetSpec
from diskbench.plugin import Redaction, plugin, plugins
from diskbench.ports import Watcher
from diskbench.providers.aws.cloud import AWSProvider
from diskbench.results.refreshed_catalogue import write_overlay
from diskbench.store.campaigns import claim_cell, find_campaign, load_cells, save_campaign
from diskbench.store.rows import load_plan

CLOUDS = [one.name for one in plugins() if one.redaction != Redaction()]
STAND_INS = ("2001:db8:", "198.18.", "00000000-0000", "removed", "private-", "token-", "project-")
"""What takes the place of a private value, and so is none itself."""
SECRETS = st.text(string.ascii_letters + string.digits + "/+=_-.!$%&@:<>'\" é", min_size=8).filter(
    lambda secret: not any(one in secret or secret in one for one in STAND_INS)
)
ACCOUNTS = st.from_regex(r"[1-9][0-9]{11}", fullmatch=True)
UUIDS = st.uuids().map(str)
PEOPLE = st.from_regex(r"[a-z]{3,12}\.[a-z]{3,12}@[a-z]{4,10}\.(com|org)", fullmatch=True)
ADDRESSES = st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6)).filter(lambda one: one.is_global)


def exchanges(value: str) -> list[Exchange]:
    """The value everywhere in a request and an answer where a cloud may have it."""
    form = {"content-type": "application/x-www-form-urlencoded; charset=utf-8"}
    xml = value.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return [
        Exchange(method="GET", url=f"/accounts/{quote(value, safe='')}?at={quote(value)}",
                 status=200, headers={"location": f"https://x/{quote(value, safe='')}"},
                 body={"one": value, "many": [value], "said": f"by {value}: no", value: 1}),
        Exchange(method="POST", url="/", sent=form, asked=urlencode({"Name.1": value}), status=200,
                 body=f"<Answer><a>{xml}</a><b>arn:aws:iam::{xml}:root</b></Answer>"),
        Exchange(method="PUT", url="/", asked={"name": value}, status=200, body=f"said {value}"),
    ]  # fmt: skip


def cleaned(cloud: str, value: str, **known: tuple[str, ...]) -> str:
    cleaner = Cleaner(plugin(cloud).redaction, **known)
    found = [cleaner.exchange(one) for one in exchanges(value)]
    return "\n".join(one.model_dump_json() for one in found)


def forms(value: str) -> set[str]:
    escaped = json.dumps(value)[1:-1]
    return {value, quote(value, safe=""), quote(value), escaped, json.dumps(escaped)[1:-1]}


@pytest.mark.parametrize("cloud", CLOUDS)
@given(secret=st.one_of(SECRETS, ACCOUNTS, UUIDS))
def test_no_secret_and_no_account_that_was_given_is_in_it(cloud, secret):
    assume(not any(form in cleaned(cloud, "") for form in forms(secret)))  # as names of fields
    text = cleaned(cloud, secret, secrets=(secret,))
    assert not [form for form in forms(secret) if form in text]


@pytest.mark.parametrize(
    ("cloud", "values"),
    [("aws", ACCOUNTS), *((cloud, st.one_of(UUIDS, PEOPLE)) for cloud in CLOUDS)],
)
@given(data=st.data())
def test_no_account_and_no_person_is_in_it_though_nobody_gave_it(cloud, values, data):
    value = data.draw(values)
    assert value not in cleaned(cloud, value)


@pytest.mark.parametrize("cloud", CLOUDS)
@given(address=ADDRESSES)
def test_no_address_is_in_it_though_nobody_gave_it(cloud, address):
    text = f"let in {address} and [{address}]"
    assert str(address) not in Cleaner(plugin(cloud).redaction).text(text)


def test_equal_values_become_equal_ones_and_what_everybody_knows_stays():
    assert Cleaner(plugin("aws").redaction).text("owner 099720109477") == "owner 099720109477"
    image = "projects/ubuntu-os-cloud/global/images/x"
    assert "projects/ubuntu-os-cloud/" in Cleaner(plugin("gcp").redaction).text(image)
    assert Cleaner(Redaction()).text("0.0.0.0/0 127.0.0.1 ::1") == "0.0.0.0/0 127.0.0.1 ::1"
    cleaner = Cleaner(Redaction(), values=("ab",))
    assert len("ab") < SHORT
    assert cleaner.text("ab") == "private-1"
    assert cleaner.text("/dev/abc") == "/dev/abc"
    cleaner = Cleaner(plugin("aws").redaction)
    text = cleaner.text("123456789012 and 210987654321 and 123456789012, 10.1.2.0/24, 10.1.2.3")
    assert text == ("000000000001 and 000000000002 and 000000000001, 198.18.1.0/24, 198.18.0.2")


def test_keys_user_data_short_names_of_an_inventory_and_custom_attributes_are_removed():
    cleaner = Cleaner(Redaction(names=(r"<name>name</name><val>([^<]+)</val>",)))
    answer = Exchange(
        method="POST", url="/sdk", status=200,
        body="<a><name>name</name><val>DC0</val><b>DC0</b><DC0>VM Network 2</DC0></a>",
    )  # fmt: skip
    cleaner.learn([answer])
    assert "DC0<" not in cleaner.exchange(answer).body
    assert cleaner.prose("the datacenter DC0, not DC01") == "the datacenter private-1, not DC01"
    listed = "<CustomFieldValue xsi:type='x'><key>7</key><value>Web</value></CustomFieldValue>"
    own = "<customValue xsi:type='x'><key>7</key><value>Web</value></customValue>"
    body = f"<a>{listed}{own}</a>"
    exchange = Exchange(method="POST", url="/sdk", status=200, asked="", body=body)
    assert "Web" not in Cleaner(plugin("vsphere").redaction).exchange(exchange).body
    found = Cleaner(Redaction(fields=("tagSet",))).exchange(
        Exchange(method="GET", url="/", status=200, asked={"customData": "aGVsbG8="},
                 body="<a><tagSet><item>x</item></tagSet><userData>aGk=</userData></a>")
    )  # fmt: skip
    assert found.asked == {"customData": "removed"}
    assert found.body == "<a><tagSet></tagSet><userData>removed</userData></a>"


def test_a_name_that_is_a_word_of_the_api_is_kept_and_a_secret_is_not():
    """vCenter names a folder of every datacenter `datastore`: requests say `Datastore`, too."""
    redaction = plugin("vsphere").redaction
    answer = "<name>name</name><val>datastore</val><name>name</name><val>Accounts</val>"
    asked = "<type>Datastore</type><pathSet>host</pathSet><path>Accounts</path>"
    exchange = Exchange(method="POST", url="/sdk", status=200, asked=asked, body=answer)
    cleaner = Cleaner(redaction)
    cleaner.learn([exchange])
    assert cleaner.exchange(exchange).asked == asked.replace("Accounts", "private-1")
    assert cleaner.prose("the host of the datastore Accounts").endswith("datastore private-1")
    assert "datastore" not in Cleaner(redaction, ["datastore"]).text("password datastore")


# A worker plans every cell of a session on one catalogue: that of the session.


CELL = Cell(
    provider="aws",
    target=TargetSpec(kind="device", path="new"),
    rent=RentSpec(disk="gp2", size_gib=20, region="us-east-1", instance_type="c4.xlarge"),
    profile="quick",
)


def overlay(baseline_iops: int) -> Overlay:
    day = "2026-11-20"
    patch = {
        "sources": {"refreshed": {"title": "an API", "as_of": day}},
        "types": {"c4.xlarge": {"iops": baseline_iops, "source": "refreshed"}},
    }
    return Overlay(cloud="aws", region="us-east-1", made_on=day, patches={"machines.yaml": patch})


def test_the_first_cell_of_a_worker_is_planned_on_the_figures_of_later_ones(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    # AWS is not asked: its answer is what the catalogue foresees.
    monkeypatch.setattr(AWSProvider, "resolve", lambda self, *asked: self.foresee(*asked))
    write_overlay(overlay(5000))
    session = open_session(f"sqlite:///{tmp_path}/rows.db", (tmp_path / "evidence").as_uri())
    try:
        rows = [cell_row(number, cell=CELL) for number in range(2)]
        save_campaign(session.database, campaign_row(), rows)
        admit_cells(session.database, find_campaign(session.database, CAMPAIGN))
        trials = [one.trial_id for one in load_cells(session.database, CAMPAIGN) if one.trial_id]
        cells = LiveCells(session, Stop(), Watcher(), lambda _: None)
        plans = []
        for trial_id in trials:
            claim_cell(session.database, trial_id, owner=session.executor_id, previous=None)
            assert cells.open(trial_id).state == "done"
            plans.append(load_plan(session.database, trial_id))
            # What is refreshed while the worker runs counts for the next worker.
            write_overlay(overlay(4000))
    finally:
        session.close()
    assert [plan.catalogue for plan in plans] == [session.books.digest] * 2
    for plan in plans:
        expected = plan.expectation.of(plan.expectation.step(5))
        assert 5000 in [one.iops for one in expected.begin.bounds if one.limit == "vm-iops"]
