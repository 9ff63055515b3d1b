"""What axes, include and exclude make of each other, and that a cell is the cell of `run`."""

import math
from unittest.mock import patch

import pytest
import typer
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.rigs.searching import examples
from tests.unit.plan.planned import a_matrix

from diskbench.cli import main
from diskbench.cli.run_command import asked_for
from diskbench.errors import InvalidValue
from diskbench.model.matrix import Matrix
from diskbench.model.spec import Cell
from diskbench.plan.combinations import combinations, idle_excludes
from diskbench.plan.matrix import expand


def fields(matrix: Matrix) -> list[dict[str, object]]:
    return [dict(one.fields) for one in combinations(matrix)]


def keys(matrix: Matrix) -> list[str]:
    return [one.key for one in expand(matrix, seed=1)]


LAB, AWS = {"provider": "lab"}, {"provider": "aws"}
TWO_BY_TWO = {"disk": ["a", "b"], "size": [1, 2]}
THERE = {"provider": "ssh", "host": "me@there", "path": "/mnt"}
MEASURED = {"runs": 3, "fail_if": ("iops < 1",)}


COMBINED = {
    "the product of the axes in the order of the file": (
        {"axes": TWO_BY_TWO, "defaults": LAB},
        [{**LAB, "disk": disk, "size": size} for disk in "ab" for size in (1, 2)]),
    "fields that go together": (
        {"axes": {"volume": [{"disk": "gp2", "size": 20}, {"disk": "io1", "iops": 100}]}},
        [{"disk": "gp2", "size": 20}, {"disk": "io1", "iops": 100}]),
    "a value of parameters is the parameters": (
        {"defaults": {"parameters": {"size": "1g"}},
         "axes": {"parameters": [{"runtime": 4}, {"parameters": {"size": "2g"}, "runs": 3}]}},
        [{"parameters": {"size": "1g", "runtime": 4}}, {"parameters": {"size": "2g"}, "runs": 3}]),
    "two axes may set different parameters": (
        {"axes": {"a": [{"parameters": {"x": 1}}], "b": [{"parameters": {"y": 2}}]}},
        [{"parameters": {"x": 1, "y": 2}}]),
    "exclude leaves out what has all of its fields": (
        {"defaults": LAB, "axes": TWO_BY_TWO,
         "exclude": [{"disk": "a", "size": 2}, {**LAB, "disk": "b"}]},
        [{**LAB, "disk": "a", "size": 1}]),
    "an include of another provider is a cell of its own": (
        {"defaults": AWS, "axes": {"disk": ["gp2"]}, "include": [THERE]},
        [{**AWS, "disk": "gp2"}, THERE]),
    "another provider takes from the defaults how to measure only": (
        {"defaults": {**AWS, "size": 20, **MEASURED},
         "axes": {"volume": [{"disk": "gp2"}, {"provider": "gcp", "disk": "pd-ssd"}]}},
        [{**AWS, "size": 20, **MEASURED, "disk": "gp2"},
         {"provider": "gcp", "disk": "pd-ssd", **MEASURED}]),
}  # fmt: skip


@pytest.mark.parametrize(("file", "combinations"), COMBINED.values(), ids=COMBINED)
def test_axes_exclude_and_include_make_combinations(file, combinations):
    assert fields(a_matrix(**file)) == combinations


def test_a_field_of_two_axes_a_cell_twice_and_more_than_anybody_pays_for_are_refused():
    matrix = a_matrix(axes={"disk": ["a"], "volume": [{"disk": "b"}]})
    with pytest.raises(InvalidValue, match="'disk' and 'volume' both set 'disk'"):
        combinations(matrix)
    matrix = a_matrix(defaults={"provider": "lab"}, axes={"disk": ["a", "a"]})
    with pytest.raises(InvalidValue, match=r"twice \(axes.disk.0 and axes.disk.1\)"):
        expand(matrix, seed=1)
    matrix = a_matrix(axes={"size": list(range(1, 200)), "iops": list(range(1, 200))})
    with pytest.raises(InvalidValue, match="39,601 combinations"):
        combinations(matrix)


def test_each_field_knows_where_it_was_given_and_an_exclude_that_matches_nothing_is_found():
    matrix = a_matrix(axes={"disk": ["a"]}, exclude=[{"disk": "a"}, {"disk": "c"}])
    assert list(idle_excludes(matrix)) == [1]
    axes, more = {"volume": [{"disk": "gp2"}]}, [{"runs": 3}]
    (one,) = combinations(a_matrix(defaults={**AWS, "runs": 2}, axes=axes, include=more))
    axis, include = one.parts
    assert (axis, include) == (("axes", "volume", 0), ("include", 0))
    places = {"disk": (*axis, "disk"), "runs": (*include, "runs")}
    assert one.places == {"provider": ("defaults", "provider"), **places}


def test_include_does_what_the_manual_of_github_actions_says_of_its_example():
    """Workflow syntax, "Example: Expanding configurations" (docs.github.com, 2026), with fields of
    ours: fruit is disk, animal is region, colour is image, shape is zone."""
    matrix = a_matrix(
        axes={"disk": ["apple", "pear"], "region": ["cat", "dog"]},
        include=[
            {"image": "green"}, {"image": "pink", "region": "cat"},
            {"disk": "apple", "zone": "circle"}, {"disk": "banana"},
            {"disk": "banana", "region": "cat"},
        ],
    )  # fmt: skip
    assert fields(matrix) == [
        {"disk": "apple", "region": "cat", "image": "pink", "zone": "circle"},
        {"disk": "apple", "region": "dog", "image": "green", "zone": "circle"},
        {"disk": "pear", "region": "cat", "image": "pink"},
        {"disk": "pear", "region": "dog", "image": "green"},
        {"disk": "banana"},
        {"disk": "banana", "region": "cat"},
    ]


SIZES = st.lists(st.integers(1, 9), min_size=1, max_size=4, unique=True)
NAMES = st.lists(st.sampled_from("abcdef"), min_size=1, max_size=4, unique=True)


@settings(deadline=None, max_examples=examples(60))
@given(NAMES, SIZES, st.data())
def test_there_are_as_many_as_the_product_less_the_excluded_and_what_is_added(disks, sizes, data):
    product = [{"disk": d, "size": s} for d in disks for s in sizes]
    excluded = data.draw(st.lists(st.sampled_from(product), unique_by=str, max_size=4))
    added = data.draw(st.lists(st.sampled_from("uvwxyz"), unique=True, max_size=4))
    axes, more = {"disk": disks, "size": sizes}, [{"disk": d, "size": 1} for d in added]
    matrix = a_matrix(defaults=LAB, axes=axes, exclude=excluded, include=more)
    assume(len(excluded) < len(product) or added)
    made = expand(matrix, seed=0)
    assert len(made) == math.prod([len(disks), len(sizes)]) - len(excluded) + len(added)
    assert len({one.key for one in made}) == len({one.cell for one in made}) == len(made)


def test_a_key_is_readable_a_block_is_it_without_the_replicate_and_no_two_cells_share_one():
    there = {**AWS, "region": "us-east-1", "instance_type": "m5.large"}
    axes = {"disk": [{"disk": "gp2", "size": 20}]}
    matrix = a_matrix(defaults=there, axes=axes, include=[{"replicates": 2}])
    first, second = expand(matrix, seed=1)
    assert first.key == "aws/us-east-1/m5.large/gp2-20GiB/default#0"
    assert second.key.endswith("#1")
    assert first.block == second.block == "aws/us-east-1/m5.large/gp2-20GiB/default"
    subnets = {"subnet": ["subnet-1", "subnet-2"]}
    matrix = a_matrix(defaults={**AWS, "disk": "gp2"}, axes=subnets)
    first, second = keys(matrix)
    assert first != second
    assert {first, second} == set(keys(matrix))


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ({"provider": "ssh", "host": "me@a", "path": "/mnt/x"}, "ssh/me@a/mnt-x/default#0"),
        ({"provider": "lab", "disk": "io1", "size": 8, "iops": 100}, "lab/io1-8GiB-100iops"),
        ({"provider": "azure", "disk": "P", "size": 8, "cache": "none"}, "azure/P-8GiB-none/"),
        ({"provider": "aws", "disk": "a", "count": 2, "stripe": True}, "aws/a-x2/default#0"),
        ({"provider": "aws", "disk": "a", "zone": "us-east-1a"}, "aws/a,zone=us-east-1a/"),
        ({"provider": "aws", "disk": "a", "profile": "/x/my.fio", "runs": 3}, "/my,runs=3#0"),
        ({**AWS, "disk": "a", "parameters": {"b": True, "a": 1.5}}, "/default,a=1.5,b=true#0"),
    ],
)
def test_what_is_measured_stands_in_the_key(given, key):
    assert key in keys(a_matrix(defaults=given))[0]


@pytest.mark.parametrize(
    ("given", "partition", "route"),
    [
        ({"provider": "aws", "region": "us-east-1"}, "aws/us-east-1", "aws"),
        ({"provider": "aws", "zone": "us-east-1a"}, "aws/us-east-1", "aws"),
        ({"provider": "gcp", "zones": ["us-central1-b"]}, "gcp/us-central1", "gcp"),
        ({"provider": "lab", "route": "site-a"}, "lab", "lab/site-a"),
        ({"provider": "vsphere", "datacenter": "dc", "route": "x"}, "vsphere/dc", "vsphere/x"),
        ({"provider": "ssh", "host": "a", "path": "/m"}, "ssh/a", "ssh"),
    ],
)
def test_limits_count_by_region_and_workers_listen_to_routes(given, partition, route):
    (one,) = expand(a_matrix(defaults=given), seed=1)
    assert (one.partition, one.route) == (partition, route)


def test_a_cell_has_the_route_and_labels_of_its_matrix_beside_its_own_and_the_first_of_its_zones():
    axes = {"v": [{"disk": "a"}, {"route": "b"}]}
    matrix = a_matrix(route="site-a", defaults=LAB, axes=axes)
    assert {one.route for one in expand(matrix, seed=1)} == {"lab/site-a", "lab/b"}
    (one,) = expand(a_matrix(defaults={"provider": "aws", "zones": ["a1", "a2"]}), seed=1)
    assert (one.zones, one.cell.rent.zone) == (("a1", "a2"), "a1")
    matrix = a_matrix(labels={"study": "s", "n": 1}, defaults={**LAB, "labels": {"n": 2}})
    (one,) = expand(matrix, seed=1)
    assert dict(one.cell.labels) == {"study": "s", "n": "2"}


@pytest.mark.parametrize(
    "given",
    [
        {"disk": "gp2"}, {"provider": "aws", "zone": "a", "zones": ["b"]},
        {"provider": "aws", "zones": ["b", "b"]}, {"provider": "aws", "size": 20.5},
        {"provider": "aws", "project": "p"}, {"provider": "local", "path": "there"},
        {"provider": "ssh", "host": "a", "path": "/x", "disk": "gp2"},
        {"provider": "aws", "labels": {"a b": 1}}, {"provider": "lab", "filesystem": "btrfs"},
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused(given):
    with pytest.raises(InvalidValue):
        expand(a_matrix(defaults=given), seed=1)


def test_a_matrix_comes_back_from_json_as_it_was():
    matrix = a_matrix(
        defaults={"provider": "aws", "promise": None, "parameters": {"a": True, "b": 1, "c": 0.5}},
        axes={"v": [{"disk": "gp2", "size": 20}], "zone": [1, "b"]},
        limits={"budget": 3, "deadline": "2h", "max_cell_time": 90, "per": {"aws": 2}},
    )
    cells = expand(matrix, seed=3)
    again = Matrix.model_validate_json(matrix.model_dump_json())
    assert again == matrix
    assert expand(again, seed=3) == cells
    assert (matrix.limits.deadline_s, matrix.limits.budget_usd) == (7200, 3)


def test_tags_of_a_matrix_are_on_all_that_it_rents_and_those_of_a_cell_win():
    web = {**AWS, "disk": "gp2", "size": 20, "tags": {"team": "web"}}
    here = {"provider": "local", "path": "/tmp"}
    matrix = a_matrix(tags={"env": "test", "team": "db"}, include=[web, here])
    rented, local = sorted((cell.cell for cell in expand(matrix, seed=1)), key=lambda c: c.provider)
    assert rented.rent.tags == (("env", "test"), ("team", "web"))
    assert local.rent is None


def cells_of_run(words: list[str]) -> tuple[Cell, ...]:
    """What `diskbench run` makes of these words, instead of beginning it."""
    kept: list[tuple[Cell, ...]] = []

    def keep(request, **_):
        kept.append(asked_for(request))
        raise typer.Exit

    with patch("diskbench.cli.run.asked_for", keep):
        assert main.main(["run", *words]) == 0
    return kept[0]


def words_of(fields: dict[str, object]) -> list[str]:
    """The flags of `run` for fields of a cell."""
    words = []
    for name, value in fields.items():
        pairs = value.items() if isinstance(value, dict) else ()
        text = ",".join(f"{key}={figure}" for key, figure in pairs) or str(value)
        words += [f"--{name.replace('_', '-')}", *([] if value is True else [text])]
    return words


FLAGS = {
    "region": "us-east-1", "zone": "us-east-1a", "instance_type": "m5.large", "disk": "gp3",
    "size": 20, "iops": 3000, "throughput": 250.5, "count": 2, "stripe": True, "image": "ami-1",
    "subnet": "subnet-1", "security_group": "sg-1", "placement": "p", "spot": True,
    "ssh_cidr": "10.0.0.0/8", "endpoint_url": "http://127.0.0.1:1", "profile_name": "me",
    "filesystem": "xfs", "profile": "quick", "runs": 3, "time_scale": 60.0,
    "lab_style": "aws-nvme", "lab_user": "u", "vm_iops": 10.0, "vm_throughput": 5.5, "noise": 0.1,
    "stall_every": 1.0, "stall_for": 2.0, "latency": 0.5, "latency_jitter": 0.25, "lab_seed": 7,
}  # fmt: skip


@pytest.mark.slow
@settings(deadline=None, max_examples=40)
@given(st.sets(st.sampled_from(sorted(FLAGS))), st.sampled_from([{}, {"runtime": 3, "size": "1g"}]))
def test_a_cell_is_the_one_that_run_makes_of_the_same_flags(names, parameters):
    chosen = {"provider": "aws"} | {name: FLAGS[name] for name in names}
    words = [*words_of(chosen), "--replicates", "2", "--label", "a=b"]
    words += [word for name, value in parameters.items() for word in ("--set", f"{name}={value}")]
    defaults = {"replicates": 2, "labels": {"a": "b"}, **chosen}
    defaults |= {"parameters": parameters} if parameters else {}
    matrix = a_matrix(order="listed", defaults=defaults)
    assert tuple(one.cell for one in expand(matrix, seed=1)) == cells_of_run(words)


@pytest.mark.parametrize("given", [
    {"provider": "azure", "disk": "P", "cache": "readonly", "performance_tier": "P30"},
    {"provider": "azure", "disk": "P", "bursting": True, "subscription": "s"},
    {"provider": "gcp", "disk": "p", "project": "x"},
    {"provider": "vsphere", "datastore": "d", "host": "esx", "memory": 8, "vcpus": 2,
     "iops_limit": 100},
    {"provider": "ssh", "host": "me@a:2", "path": "/mnt", "size": 0.5},
    {"provider": "ssh", "host": "a", "device": "/dev/x", "destroy_data": "id"},
    {"provider": "local", "path": "/mnt"},
    {"provider": "vsphere", "insecure": True, "promise": {"iops": 100, "mb_per_s": 2.5}},
])  # fmt: skip
def test_so_are_those_of_other_providers(given):
    (one,) = expand(a_matrix(defaults=given), seed=1)
    assert (one.cell,) == cells_of_run(words_of(given))
