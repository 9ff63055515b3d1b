"""Whose work used the processor up: the load generator's own, a neighbour's, or the machine's."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diskbench.fio.samples import parse_samples
from diskbench.model.processor import MachineUse, busiest, busy_with


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
def test_what_used_it_up_is_named(used: MachineUse, workers: list[str]) -> None:
    found = busy_with(used)
    assert list(found) == workers
    assert all(found.values())


SHARES = st.none() | st.floats(0, 1)


@given(core=SHARES, steal=SHARES, job=st.floats(0, 0.49), others=st.floats(0.9, 60))
def test_an_idle_generator_beside_a_busy_neighbour_is_never_the_limit(core, steal, job, others):
    own = {"busiest_job": job, "all_jobs": job}
    used = MachineUse(busiest_core=core, steal=steal, processes=job + others, **own)
    assert "generator" not in busy_with(used)


def test_of_several_rounds_that_in_which_the_generator_was_at_its_limit_counts() -> None:
    own = MachineUse(busiest_core=0.92, busiest_job=0.91, all_jobs=0.91)
    neighbour = MachineUse(busiest_core=1.0, busiest_job=0.02, all_jobs=0.02)
    assert busiest([neighbour, own, MachineUse(busiest_core=0.1)]) == own
    assert busiest([]) == MachineUse()


def test_samples_tell_interrupts_and_steal_of_the_busiest_core_and_what_processes_used() -> None:
    #                     user nice system idle iowait irq softirq steal
    found = parse_samples(
        b"@ 1\ncpu 0 0 0 0 0 0 0 0\ncpu0 0 0 0 0 0 0 0 0\ncpu1 0 0 0 0 0 0 0 0\n"
        b"@ 2\ncpu 30 10 20 70 0 10 50 10\ncpu0 5 0 5 20 0 10 50 10\ncpu1 25 10 15 50 0 0 0 0\n"
    )
    assert found.busiest_core == pytest.approx(0.8)
    assert found.core_interrupts == pytest.approx(0.6)
    assert found.core_steal == pytest.approx(0.1)
    assert found.processes == pytest.approx(0.6)
