"""Ids, options, metrics, processors, leases, and runs in blocks of A B B A."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ulid import ULID

from diskbench.cli.ab import arguments_of
from diskbench.engine.cleanup.named_ids import is_same_owner
from diskbench.errors import InvalidValue, UnknownName
from diskbench.fio.samples import parse_samples
from diskbench.model.comparison import block_of, labels_at, turns
from diskbench.model.ids import Known, age, last_number, meant, several, short
from diskbench.model.matrix import CellFields
from diskbench.model.metrics import CloudMetric, covers, exceeded_within
from diskbench.model.options import RentSpec, all_options, own_options
from diskbench.model.processor import MachineUse, busiest, busy_with
from diskbench.model.rental import Which, is_named_for, was_made
from diskbench.plan.matrix_form import matrix_schema, read_form
from diskbench.plan.rent_options import RENT_OPTIONS, rent_spec
from diskbench.plugin import plugin, plugins
from diskbench.providers.azure.plugin import AzureOptions
from diskbench.providers.options import EmulationOptions

A, B = "01kq8z6rj0aaaaaaaaaaaaaaa1", "01kq8z6rj1bbbbbbbbbbbbbbb1"
TWO = [Known(A, "lease", where="aws us-east-1"), Known(B, "lease", where="lab")]
IDS = st.text("01ab", min_size=1, max_size=6)


def test_a_beginning_or_the_short_form_means_the_only_thing_that_it_fits():
    assert meant(f" {A[:10].upper()} ", TWO, "lease").id == A
    assert short(A) == A[-8:]
    assert meant(short(A).upper(), TWO, "lease").id == A
    assert short(A) != short(B)


def test_a_beginning_of_several_lists_id_kind_place_and_age_but_not_of_all():
    with pytest.raises(InvalidValue) as refused:
        meant("01kq", TWO, "lease")
    for told in (f"{A}  lease, aws us-east-1, ", f"{B}  lease, lab, ", " old"):
        assert told in refused.value.message
    found = [Known(f"01a{n:02}", "run") for n in range(30)]
    assert "and others" in several("01a", found).message
    assert len(several("01a", found).message.splitlines()) < 12


def test_a_shorter_end_and_what_fits_nothing_are_unknown_and_an_empty_text_means_nothing():
    for text in (A[-7:], "01zz"):
        with pytest.raises(UnknownName):
            meant(text, TWO, "lease")
    for text in ("", " ", "\t", "\n "):
        with pytest.raises(InvalidValue, match="is empty"):
            meant(text, TWO[:1], "lease")


def test_last_means_the_newest_and_counts_back():
    texts = ("last", " LAST ", "last~3", "last~", "last~-1", "lastly")
    assert [last_number(text) for text in texts] == [0, 0, 3, None, None, None]
    assert [meant(text, TWO, "lease").id for text in ("last", "LAST~1")] == [B, A]
    with pytest.raises(UnknownName):
        meant("last~2", TWO, "lease")


def test_a_thing_with_its_parts_or_with_what_stands_for_the_same_is_one():
    known = [Known("01a", "trial"), Known("01ab", "run", part_of=("01a",))]
    assert meant("01", known, "run").id == "01a"
    assert meant("01ab", known, "run").id == "01ab"
    known = [Known("01a", "run", means="lease"), Known("01b", "run", means="lease")]
    assert meant("01", known, "run").stands_for == "lease"


@given(st.lists(IDS, unique=True, min_size=1), st.text("01ab \t", max_size=6))
def test_it_is_one_thing_or_a_refusal_and_never_another_thing(ids, text):
    known = [Known(one, "lease") for one in ids]
    wanted = text.strip()
    try:
        found = meant(text, known, "lease")
    except (InvalidValue, UnknownName):
        assert wanted not in ids
        assert sum(one.startswith(wanted) for one in ids) != 1 or not wanted
    else:
        assert wanted
        assert found.id == wanted or [o for o in ids if o.startswith(wanted)] == [found.id]


def test_the_age_is_that_of_the_id():
    made = ULID.from_timestamp(1_777_464_000.0)
    assert age(str(made).lower(), now=1_777_464_000.0 + 7500) == "2 h 05 min old"
    assert age("one") == ""


def test_what_is_stored_is_what_differs_from_its_default():
    given = {"disk": "Premium_LRS", "size": 20.0, "cache": "readonly", "time_scale": 60.0}
    spec = rent_spec(plugin("azure"), given)
    assert spec is not None
    assert AzureOptions.of(spec) == AzureOptions(cache="readonly")
    assert EmulationOptions.of(spec) == EmulationOptions(time_scale=60)
    assert (spec.text("cache"), spec.time_scale, spec.flag("bursting")) == ("readonly", 60.0, False)
    again = RentSpec.model_validate_json(spec.model_dump_json())
    assert (again, hash(again)) == (spec, hash(spec))
    assert dict(again.groups()) == {"azure": {"cache": "readonly"}, "lab": {"time_scale": 60.0}}


def test_options_that_no_provider_or_model_takes_are_kept():
    stored = {"disk": "fast", "stratus": {"fabric": "blue", "lanes": 4}}
    spec = RentSpec.model_validate(stored)
    assert spec.model_dump(exclude_defaults=True) == stored
    assert spec.text("fabric") == "blue"
    spec = RentSpec.model_validate({"azure": {"cache": "readonly", "of_later": 3}})
    assert spec.group("azure") == {"cache": "readonly", "of_later": 3}


@pytest.mark.parametrize("stored", [{"dsk": "gp2"}, {"azure": "readonly"}])
def test_what_is_no_field_and_no_group_is_refused(stored):
    with pytest.raises(ValueError, match="valid dictionary"):
        RentSpec.model_validate(stored)


def test_a_value_out_of_range_names_its_flag():
    with pytest.raises(InvalidValue, match=r"--time-scale: 0\.5") as refused:
        rent_spec(plugin("lab"), {"disk": "gp2", "size": 20, "time_scale": 0.5})
    assert refused.value.field == "time_scale"


def test_who_pays_is_the_account_of_the_spec():
    for one in plugins():
        if one.account_option is not None:
            spec = rent_spec(one, {"disk": "x", one.account_option: "them"})
            assert spec.account == "them"
            assert not spec.groups()


def test_an_option_has_one_name_in_a_provider_and_what_it_refuses_is_one_of_renting():
    for one in plugins():
        names = [option.name for option in own_options(one.name)]
        assert len(names) == len(set(names)), one.name
        assert not set(names) & (set(CellFields.model_fields) - {"host"}), one.name
        assert set(one.refuses) <= {*RENT_OPTIONS, "account", "size"}, one.name


def test_every_own_option_is_a_field_of_a_matrix_and_of_its_schema():
    known = matrix_schema({})["$defs"]["CellFields"]["properties"]
    for one, option in all_options():
        assert option.name in known, (one.name, option.name)
        assert option.about


def test_a_misspelt_option_in_a_matrix_is_found_with_its_line():
    typed = "name: x\ndefaults:\n  provider: azure\n  cachee: readonly\n"
    _, matrix, (mistake,), _ = read_form(typed)
    assert (mistake.line, mistake.advice) == (4, "known: diskbench matrix schema")
    assert matrix.defaults.given() == {"provider": "azure"}, "it is not guessed"


def test_the_region_of_a_zone_is_told_by_the_plugin():
    assert plugin("aws").region_of("eu-central-1a") == "eu-central-1"
    assert plugin("gcp").region_of("europe-west3-b") == "europe-west3"
    assert plugin("azure").region_of("1") is None


def series(*values: float, of="vol-1", limit="disk-iops", begin=0):
    points = tuple((begin + 60 * number, value) for number, value in enumerate(values))
    return CloudMetric(
        name="Check", of=of, statistic="Maximum", period_s=60, limit=limit,
        reached_at=1.0 if limit else None, points=points,
    )  # fmt: skip


def test_a_period_counts_once_when_it_lies_wholly_in_the_step_and_has_a_limit():
    found = exceeded_within([series(1, 1, 0, 1, 1)], 30.0, 270.0)
    assert (found.seconds, found.counted_s) == ({"disk-iops": 120.0}, 180.0)
    found = exceeded_within([series(1, 0, 0), series(1, 1, 0, of="vol-2")], 0.0, 180.0)
    assert found.seconds == {"disk-iops": 120.0}
    assert exceeded_within([series(1, 1)], 1.0, 119.0) is None
    assert exceeded_within([series(1, 1, limit=None)], 0.0, 120.0) is None


@given(st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=9), st.floats(0, 600))
def test_no_more_is_counted_than_the_step_lasted(values, finished):
    found = exceeded_within([series(*values)], 0.0, finished)
    if found is not None:
        assert found.counted_s is not None
        assert found.seconds["disk-iops"] <= found.counted_s <= finished


def test_waiting_ends_when_every_series_has_the_last_whole_period():
    assert not covers([], 100.0)
    assert not covers([series(), series(of="vol-2")], 100.0)
    assert not covers([series(1), series(1, 1, of="vol-2")], 130.0)
    seldom = series(1, limit=None)
    assert covers([series(1, 1), series(1, 1, of="vol-2"), series(of="vol-3"), seldom], 130.0)


@pytest.mark.parametrize(
    ("used", "workers"),
    [
        (MachineUse(), []),
        (MachineUse(busiest_core=0.89, steal=0.019, busiest_job=0.89, all_jobs=0.89), []),
        (MachineUse(busiest_core=0.97, busiest_job=0.95, all_jobs=0.95), ["generator"]),
        (MachineUse(busiest_core=0.97), ["generator"]),
        (MachineUse(busiest_core=0.3, busiest_job=0.95, all_jobs=0.95), ["generator"]),
        (MachineUse(busiest_core=0.97, busiest_job=0.02, all_jobs=0.02), ["process"]),
        (MachineUse(busiest_core=0.97, processes=1.6, busiest_job=0.1, all_jobs=0.6), ["process"]),
        (
            MachineUse(busiest_core=0.97, processes=1.0, busiest_job=0.1, all_jobs=0.9),
            ["generator"],
        ),
        (MachineUse(busiest_core=0.2, steal=0.024, busiest_job=0.02, all_jobs=0.02), ["steal"]),
        (MachineUse(busiest_core=0.95, core_steal=0.6, all_jobs=0.9, busiest_job=0.3), ["steal"]),
        (MachineUse(busiest_core=0.95, core_interrupts=0.5, all_jobs=0.9), ["interrupts"]),
        (
            MachineUse(busiest_core=1.0, core_interrupts=0.9, busiest_job=0.97, all_jobs=0.97),
            ["generator", "interrupts"],
        ),
    ],
)
def test_what_used_it_up_is_named(used, workers):
    found = busy_with(used)
    assert list(found) == workers
    assert all(found.values())


SHARES = st.none() | st.floats(0, 1)


@given(core=SHARES, steal=SHARES, job=st.floats(0, 0.49), others=st.floats(0.9, 60))
def test_an_idle_generator_beside_a_busy_neighbour_is_never_the_limit(core, steal, job, others):
    own = {"busiest_job": job, "all_jobs": job}
    used = MachineUse(busiest_core=core, steal=steal, processes=job + others, **own)
    assert "generator" not in busy_with(used)


def test_of_several_rounds_that_in_which_the_generator_was_at_its_limit_counts():
    own = MachineUse(busiest_core=0.92, busiest_job=0.91, all_jobs=0.91)
    neighbour = MachineUse(busiest_core=1.0, busiest_job=0.02, all_jobs=0.02)
    assert busiest([neighbour, own, MachineUse(busiest_core=0.1)]) == own
    assert busiest([]) == MachineUse()


def test_samples_tell_interrupts_and_steal_of_the_busiest_core_and_what_processes_used():
    #                     user nice system idle iowait irq softirq steal
    found = parse_samples(
        b"@ 1\ncpu 0 0 0 0 0 0 0 0\ncpu0 0 0 0 0 0 0 0 0\ncpu1 0 0 0 0 0 0 0 0\n"
        b"@ 2\ncpu 30 10 20 70 0 10 50 10\ncpu0 5 0 5 20 0 10 50 10\ncpu1 25 10 15 50 0 0 0 0\n"
    )
    assert found.busiest_core == pytest.approx(0.8)
    assert found.core_interrupts == pytest.approx(0.6)
    assert found.core_steal == pytest.approx(0.1)
    assert found.processes == pytest.approx(0.6)


NAME = "diskbench-one-disk-0"


def test_a_name_is_that_of_the_lease_and_a_kind():
    assert is_named_for("one", NAME)
    assert is_named_for("one", "diskbench-one-machine")
    near = ("diskbench-one-", "diskbench-one", "diskbench-one-disk 0", "diskbench-oneself-disk")
    for other in (*near, "x-diskbench-one-disk", "prod-database", "", None):
        assert not is_named_for("one", other), other


def test_an_id_counts_where_it_was_written_down_or_named():
    made = ("volume vol-1", "instance i-1")
    assert was_made("volume vol-1", made)
    assert not was_made("volume vol-2", made)
    assert was_made("key-pair k", made)
    assert was_made("volume vol-2", ())
    which = Which("one", copied=("volume vol-2",))
    assert which.takes("prod-database", "volume vol-2")
    assert not which.takes(NAME, "volume vol-1")


def test_an_owner_is_known_by_what_clouds_make_of_it():
    assert is_same_owner("alice@desk", "alice@desk")
    assert is_same_owner("alice_desk", "Alice@desk")
    assert not any(is_same_owner(tag, "alice@desk") for tag in ("bob@desk", "", None))


SIDES = ("old", "new")


def test_a_block_is_abba_named_by_its_labels_and_what_was_done_is_not_done_again():
    assert [side for _, side in turns(SIDES, 2, {})] == ["old", "new", "new", "old"] * 2
    done = {(1, "old"): 1, (1, "new"): 2}
    assert turns(SIDES, 2, done)[0] == (1, "old")
    assert len(turns(SIDES, 2, done)) == 5
    assert turns(SIDES, 1, {(1, "old"): 2, (1, "new"): 2}) == []
    assert block_of(labels_at("s", "old", 3)) == "s/3"
    assert block_of({"ab": "s"}) == ""
    assert block_of({"ab-block": "3"}) == ""
    assert block_of(None) == ""


def test_a_run_has_the_labels_of_its_turn_and_those_that_were_typed():
    typed = {
        "profile": "quick", "path": "/mnt", "size": None, "host": ["root@db1"],
        "parameters": ["bs=4k"], "labels": ["team=x"], "install_fio": False,
        "database_url": None, "evidence_url": None,
    }  # fmt: skip
    words = arguments_of(typed, labels_at("s", "new", 2))
    labels = [word for flag, word in pairwise(words) if flag == "--label"]
    assert labels == ["team=x", "ab=s", "ab-side=new", "ab-block=2"]
    assert words[words.index("--host") + 1] == "root@db1"
    assert "--size" not in words
