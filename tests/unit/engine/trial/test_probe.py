"""A machine is looked at before a run in as few round trips as can be."""

import pytest
from tests.rigs.plans import make_plan

from diskbench.engine.trial.probe import probe
from diskbench.errors import TargetRefused
from diskbench.hosts.fake import FakeHost
from diskbench.model.spec import TargetSpec


def cell_at(path):
    cell = make_plan(("01kq8z6rj0aaaaaaaaaaaaaaa0",)).cell
    return cell.model_copy(update={"target": TargetSpec(kind="directory", path=str(path))})


def test_facts_and_directory_come_in_one_round_trip(tmp_path):
    host = FakeHost()
    found = probe(host, cell_at(tmp_path), install_fio=False)
    assert len(host.calls) == 1
    assert found.fio_version
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", ["/none/such", "relative", "/etc/passwd"])
def test_a_directory_that_cannot_be_used_is_refused(path):
    with pytest.raises(TargetRefused):
        probe(FakeHost(), cell_at(path), install_fio=False)
