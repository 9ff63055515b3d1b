import pytest

from diskbench.hosts.facts import parse_facts
from diskbench.hosts.shell import whole


@pytest.mark.parametrize("text", ["", "-1", "1e3", "٣", "9" * 20, "9" * 5000, "inf", str(2**63)])
def test_what_is_no_count_of_a_host_is_none(text):
    assert whole(text) is None


def test_a_count_is_read():
    assert whole("0") == 0
    assert whole(str(2**63 - 1)) == 2**63 - 1
    assert whole("9", most=8) is None


@pytest.mark.parametrize("number", ["9" * 5000, str(2**62), "-5", "nan"])
def test_facts_that_no_machine_has_are_not_known(number):
    facts = parse_facts(f"== online\n{number}\n== meminfo\nMemTotal: {number} kB\n")
    assert facts.memory_bytes == 0
    assert facts.cpu.count == 1
