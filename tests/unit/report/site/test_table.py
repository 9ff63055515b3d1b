from types import SimpleNamespace

import pytest
from tests.rigs.runs import a_run, bare_run
from tests.unit.report.reported import judged, trial, verdict

from diskbench.analysis.drift import LEAST_HISTORY
from diskbench.model.history import Best, Configuration, ConfigurationLine, NewLevel, SiteRunLine
from diskbench.model.run import AskedRun
from diskbench.report.assemble.lines import Spread, StepLine
from diskbench.report.site.configuration import kept_words, shown_fields
from diskbench.report.site.lines import configuration_line, run_line
from diskbench.report.site.private import numbered, private_fields, scrubbed, secrets_of
from diskbench.report.site.published_evidence import safe_name
from diskbench.report.site.table import configurations_table, runs_table

AT = "2026-11-21T10:00:00.000000+00:00"
SUBJECT = Configuration(
    key="k", words="w", fields=(), provider="aws", runs=("1", "2", "3"), times=1, machines=3,
    first=AT, last=AT, tracks=(),
)  # fmt: skip


def configuration(key, **more):
    values = {
        "key": key, "words": key, "provider": "aws", "disk": "gp2 20 GiB", "runs": 1, "times": 1,
        "machines": 1, "first": AT, "last": AT,
    }  # fmt: skip
    return ConfigurationLine(**values | more)


def listed(**each):
    """A table of configurations, each on the disk of its name."""
    return configurations_table([configuration(key, disk=key, **of) for key, of in each.items()])


def run(run_id, **more):
    return SiteRunLine(
        run_id=run_id, trial_id="t", key="k", at=AT, state="done", provider="aws", **more
    )


def column(table, key):
    (place,) = [place for place, one in enumerate(table.columns) if one.key == key]
    return [row[place] for row in table.rows]


def test_configurations_that_look_alike_are_told_apart_by_what_differs():
    table = configurations_table([
        configuration("a", rest=(("bs", "4k"), ("seed", "1"))),
        configuration("b", rest=(("bs", "4k"), ("seed", "2"))),
        configuration("c", rest=(("bs", "8k"),), region="eu-west-1"),
    ])  # fmt: skip
    assert [cell.small for cell in column(table, "disk")] == ["seed 1", "seed 2", ""]


def test_the_cheapest_stands_first_and_what_has_no_price_below():
    table = listed(a={}, b={"usd_a_month": 20.0}, c={"provider": "gcp", "usd_a_month": 8.0})
    assert [cell.text for cell in column(table, "disk")] == ["c", "b", "a"]
    assert table.sorted_by == "month"
    assert configurations_table([configuration("a")]).sorted_by == "provider"


def test_a_level_is_only_steady_where_a_change_could_have_been_found():
    worse = NewLevel(
        at=AT, trial_id="t", run_id="r", step="s", direction="read", metric="iops", before=2.0,
        after=1.0, change=-0.5, worse=True,
    )  # fmt: skip
    followed = {"times": 6, "followed": True}
    table = listed(a={}, b={"times": 5}, c=followed, d=followed | {"levels": (worse,)})
    told = [cell.text for cell in column(table, "level")]
    assert told == ["measured once", f"under {LEAST_HISTORY} times", "steady", "worse"]
    assert column(table, "change")[3].text == "−50.0 %"


def test_a_configuration_is_believed_as_far_as_its_worst_run_and_priced_like_its_newest():
    told = [run("1", trust="no"), run("2", trust="yes", usd_a_month=3.0), run("3", usd_a_month=5.0)]
    assert configuration_line(SUBJECT, told).usd_a_month == 3.0, "the newest with a price"
    table = configurations_table([configuration_line(SUBJECT, told)])
    (cell,) = column(table, "trust")
    assert (cell.text, cell.small, cell.tone) == ("no", "1 of 3 runs", "bad")
    sure = configurations_table([configuration_line(SUBJECT, told[1:])])
    assert [(one.text, one.small) for one in column(sure, "trust")] == [("yes", "")]
    unknown = configurations_table([configuration_line(SUBJECT, told[2:])])
    assert "trust" not in [one.key for one in unknown.columns]


def test_columns_that_no_row_fills_are_left_out_and_facets_are_choices():
    table = runs_table([run("1", disk="gp2"), run("2", disk="gp3", profile="quick")])
    keys = [column.key for column in table.columns]
    assert "region" not in keys
    assert "write" not in keys
    facets = {column.key: values for _, column, values in table.facets}
    assert facets["disk"] == [("gp2", 1), ("gp3", 1)]
    assert facets["profile"] == [("", 1), ("quick", 1)]
    assert "provider" not in facets


def test_figures_are_shown_rounded_and_sorted_exactly():
    table = runs_table([run("1", read=Best(value=2999.987, step="rand-read"))])
    (cell,) = column(table, "read")
    assert (cell.text, cell.sort, cell.small) == ("3,000", 2999.987, "rand-read")


def test_of_one_subject_the_columns_that_all_runs_share_are_left_out():
    table = runs_table([run("1", disk="gp2"), run("2", disk="gp2")], up="../", one_subject=True)
    assert [column.key for column in table.columns] == ["when", "state", "run"]
    assert table.rows[0][0].href == "../trials/t.html#row-1"


def test_a_disk_has_its_price_over_the_iops_that_last_in_the_faster_direction():
    read, write = Best(value=4000.0, step="r"), Best(value=2000.0, step="w")
    month = {"usd_a_month": 8.0}
    table = listed(a={"read": read, "write": write} | month, b={"write": write}, c=month)
    assert [cell.sort for cell in column(table, "thousand")] == [2.0, None, None]
    assert column(table, "thousand")[0].small == "read"
    assert [one.key for _, one in table.leasts] == ["read", "write"]
    assert table.example is not None
    assert configurations_table([configuration("b", write=write)]).example is None


def test_a_figure_on_burst_credit_has_no_price_per_1000_and_is_below_all_that_last():
    burst = Best(value=3060.0, step="rand-read", on_credit=True)
    lasts = Best(value=100.0, step="rand-read")
    table = listed(a={"read": burst, "usd_a_month": 2.0}, b={"read": lasts, "usd_a_month": 2.0})
    assert [cell.sort for cell in column(table, "read")] == [-1, 100.0]
    assert [cell.text for cell in column(table, "read")] == ["3,060", "100"]
    assert column(table, "read")[0].small == "burst, rand-read"
    assert [cell.sort for cell in column(table, "thousand")] == [None, 20.0]


@pytest.mark.parametrize(("lasting", "on_credit"), [((), True), (("rand-read",), False)])
def test_a_configuration_lasts_as_soon_as_one_of_its_runs_did(lasting, on_credit):
    now = SimpleNamespace(median=3000.0, machines=2)
    history = SimpleNamespace(direction="read", step="rand-read", changes=(), visible=None)
    track = SimpleNamespace(metric="iops", now=now, history=history, sampled=())
    subject = SimpleNamespace(
        key="k", words="w", fields=(("set.size", "1073741824"),), provider="aws", region="",
        disk="gp2", machine="", profile="quick", marks=(), runs=("1", "2"), times=1, machines=2,
        first=AT, last=AT, tracks=(track,), facts=(),
    )  # fmt: skip
    told = [run("1", on_credit=("rand-read",)), run("2", lasting=lasting)]
    line = configuration_line(subject, told)
    assert line.read == Best(value=3000.0, step="rand-read", n=2, on_credit=on_credit)
    assert line.rest == (("size", "1 GiB"),)


def test_a_configuration_says_how_many_of_its_runs_kept_the_promise():
    ratios = [0.5 if n in (3, 4) else 1.0 for n in range(20)]
    newest_first = [run(f"r{n}", ratio=of, designed=0.99) for n, of in enumerate(ratios)]
    told = kept_words(newest_first)
    assert told.startswith("90% of 20 runs at 90% of the promise or more (")
    assert told.endswith("worst spell 2 runs; designed for 99% of the time")
    assert kept_words(newest_first[:9]) == "", "few runs have no share"
    assert kept_words([run(f"r{n}") for n in range(20)]) == "", "no run asked for the promise"


@pytest.mark.parametrize(("state", "trust"), [("done", "yes"), ("interrupted", None)])
def test_a_run_is_limited_by_what_limits_the_step_whose_figure_it_shows(state, trust):
    rates = {"seq": 130.0, "seq-2": 130.0, "rand": 3000.0}
    limiters = {"rand": "disk-iops"}
    view = trial(
        verdicts=tuple(
            verdict(
                judged(rate, limiter=limiters.get(step, "disk-throughput")), step=step, run_id="r"
            )
            for step, rate in rates.items()
        )
    )
    steps = [StepLine(step, "read", "", Spread((iops,)), None) for step, iops in rates.items()]
    line = run_line(a_run(run_id="r", state=state), {}, "k", view, steps)
    assert (line.read.step, line.limiter, line.trust) == ("rand", "disk IOPS", trust)


def test_parameters_of_a_job_stand_together_with_sizes_in_units():
    fields = (("size", "20 GiB"), ("set.size", "67108864"), ("set.bs", "4096"), ("job", "5691c8"))
    assert shown_fields(fields) == [("size", "20 GiB"), ("parameters", "size 64 MiB, bs 4 KiB")]


# What a published site leaves out, and the names of its files.


def row(*, rent=None, scope=None, **known):
    return AskedRun(bare_run(**({"provider": "ssh"} | known)), rent, scope)


def test_names_go_where_they_are_whole_words_and_the_longest_first():
    assert scrubbed("db1: /mnt/db1 on db10", ("/mnt/db1", "db1")) == "left out: left out on db10"
    assert scrubbed("nothing to hide", ()) == "nothing to hide"


def test_accounts_and_networks_are_secrets_of_every_site_hosts_and_paths_of_an_anonymous_one():
    rent = {"account": "acct-1", "subnet": "subnet-1", "disk": "gp2", "region": "eu-central-1"}
    rented = row(provider="aws", rent=rent, scope={"account": "123456789012"})
    found = secrets_of([rented], anonymous=False)
    assert set(found) == {"acct-1", "subnet-1", "123456789012"}
    rent = {"disk": "thin", "vsphere": {"datastore": "bank-7", "esxi_host": "esx3.bank.example"}}
    rented = row(provider="vsphere", address="root@db1.bank.example", zone="dc-north", rent=rent)
    found = secrets_of([rented], anonymous=True)
    assert {"bank-7", "esx3.bank.example", "db1.bank.example", "dc-north"} <= set(found)
    assert "thin" not in found
    assert "root" not in found


def test_machines_are_numbered_in_the_order_of_their_first_run():
    rows = [row(address="c"), row(address="a"), row(hostname="b"), row(address="a"), row()]
    assert numbered(rows) == {"a": "machine 1", "b": "machine 2", "c": "machine 3"}


def test_a_field_that_nobody_thought_of_is_left_out():
    fields = (
        ("provider", "vsphere"), ("profile", "quick"), ("set.bs", "4k"), ("region", "dc-north"),
        ("machine", "db1"), ("vsphere.folder", "finance"), ("size", "20 GiB"),
    )  # fmt: skip
    told = private_fields(fields, {"db1": "machine 1"})
    assert told == (
        ("provider", "vsphere"), ("profile", "quick"), ("machine", "machine 1"),
        ("size", "20 GiB"),
    )  # fmt: skip


def test_a_safe_name_has_no_dot_but_those_of_its_endings() -> None:
    assert safe_name("x.php.b_bw.1.log", packed=True) == "x_php_b_bw_1_log.txt.zst"
    assert safe_name("FIO.JSON", packed=False) == "FIO.json"
    assert safe_name("..", packed=False) == "file.txt"
