"""Which cells of a matrix share a machine."""

from tests.rigs.matrix_rows import cell_row
from tests.unit.plan.matrices import a_matrix

from diskbench.model.matrix import Limits
from diskbench.plan.admit import AdmissionMoment, Decision, admit
from diskbench.plan.matrix import expand

AWS = {"provider": "aws", "region": "us-east-1", "instance_type": "m5.large", "size": 20}
NOW = "2026-11-21T12:00:00.000000+00:00"


def machines(*, reuse_host=True, **fields):
    """The machine of each cell, by its key."""
    matrix = a_matrix(reuse_host=reuse_host, **fields)
    return {one.key: one.machine for one in expand(matrix, seed=1)}


def machines_of(*cells):
    return AdmissionMoment(now=NOW, elapsed_s=0.0, machines=cells)


def shared(position, machine="one", **changes):
    return cell_row(position, machine=machine, **changes)


def test_by_default_each_cell_has_a_machine_of_its_own():
    found = machines(reuse_host=False, defaults=AWS, axes={"disk": ["gp2", "gp3"]})
    assert set(found.values()) == {None}


def test_disks_of_any_kind_share_the_machine_of_their_place_and_type():
    volumes = [{"disk": "gp2"}, {"disk": "io1", "iops": 500}, {"disk": "gp3", "size": 100}]
    found = machines(defaults={**AWS, "replicates": 2}, axes={"volume": volumes})
    assert len(found) == 6
    (name,) = set(found.values())
    assert name.startswith("aws/us-east-1/m5.large~")


def test_whatever_makes_another_machine_is_not_shared():
    axes = {
        "region": ["us-east-1", "eu-west-1"],
        "instance_type": ["m5.large", "c5.large"],
        "image": ["ami-1", "ami-2"],
        "spot": [True, False],
        "profile_name": ["mine", "other"],
        "zones": [["us-east-1a"], ["us-east-1b", "us-east-1a"]],
        "route": ["here", "there"],
    }
    for name, values in axes.items():
        found = machines(defaults={**AWS, "disk": "gp2"}, axes={name: values})
        assert len(set(found.values())) == 2, name


def test_virtual_disks_of_any_provisioning_share_the_machine_of_their_datastore():
    defaults = {"provider": "vsphere", "size": 8}
    provisioning = ["thin", "eager-zeroed"]
    stores = ["fast", "slow"]
    found = machines(defaults=defaults, axes={"datastore": stores, "provisioning": provisioning})
    assert len(set(found.values())) == 2


def test_a_machine_that_is_there_is_not_shared_but_measured_in_turn_anyway():
    found = machines(defaults={"provider": "local", "path": "/data"}, axes={"size": [1, 2]})
    assert set(found.values()) == {None}


def test_one_cell_at_a_time_uses_a_machine():
    cells = [shared(0), shared(1), cell_row(2)]
    assert admit(cells, Limits(), machines_of()).begin == (0, 2)
    cells = [shared(0, state="measuring"), shared(1), cell_row(2)]
    assert admit(cells, Limits(), machines_of()).begin == (2,)


def test_a_machine_keeps_its_place_from_one_cell_to_the_next():
    cells = [shared(0, state="done"), shared(1, "two"), shared(2)]
    limits = Limits(max_parallel=1)
    assert admit(cells, limits, machines_of(cells[0])).begin == (2,), (
        "two machines would be too many"
    )
    assert admit(cells, limits, machines_of()).begin == (1,)


def test_a_machine_of_cells_that_are_over_takes_a_place_until_it_is_given_back():
    cells = [shared(0, state="done"), cell_row(1)]
    assert admit(cells, Limits(max_parallel=1), machines_of(cells[0])) == Decision()


def test_machines_count_against_the_limits_of_their_region():
    cells = [shared(0, state="measuring"), shared(1, "two"), shared(2, "three", provider="gcp")]
    limits = Limits(max_parallel=9, per={"aws": 1})
    assert admit(cells, limits, machines_of()).begin == (2,)
