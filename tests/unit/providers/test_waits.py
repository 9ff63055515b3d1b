"""A cloud that does not answer is asked again for as long as there is patience, and then told; how
long a machine without a hypervisor is waited for."""

import dataclasses
from typing import Any
from unittest.mock import Mock

import pytest

from diskbench.errors import HostUnavailable, Interrupted, NoCapacity, Unanswered
from diskbench.providers.aws.client import AwsTiming
from diskbench.providers.gcp.client import GceTiming
from diskbench.providers.gcp.disk_request import GcpMachine
from diskbench.providers.waits import CloudTiming, repeated, while_looking
from diskbench.testing.rig import RigOnlooker

SHORT = CloudTiming(first_retry_s=0.001, max_retry_s=0.002, retry_s=30.0)


def answers(*given: object) -> Any:
    """A call that raises or gives these, one after the other."""
    return Mock(side_effect=given)


def test_a_call_that_failed_on_the_way_is_made_again_and_one_that_was_refused_is_not():
    assert repeated(answers(Unanswered("no"), Unanswered("no"), 7), SHORT, None) == 7
    with pytest.raises(NoCapacity):
        repeated(answers(NoCapacity("none"), 7), SHORT, None)


def test_whoever_asks_may_choose_what_is_worth_another_try():
    def again(error: BaseException) -> bool:
        return isinstance(error, NoCapacity)

    assert repeated(answers(NoCapacity("none"), 7), SHORT, None, again) == 7
    with pytest.raises(Unanswered):
        repeated(answers(Unanswered("no"), 7), SHORT, None, again)


def test_patience_ends_with_the_last_error_and_who_is_told_to_stop_asks_no_more():
    with pytest.raises(Unanswered, match="first"):
        repeated(answers(Unanswered("first"), 7), CloudTiming(retry_s=0.0), None)
    watch = RigOnlooker()
    watch.stop.set()
    with pytest.raises(Interrupted):
        repeated(answers(Unanswered("no"), 7), SHORT, watch)


def test_whoever_only_looks_has_little_patience():
    reading = CloudTiming().for_reading()
    assert reading.retry_s == CloudTiming().look_s
    assert reading.ssh_s == CloudTiming().ssh_s


@pytest.mark.parametrize(
    ("look_at", "advice"), [("look at the network", "look at the network"), ("", "try again")]
)
def test_silence_is_the_users_environment_while_there_is_no_run_to_resume(look_at, advice):
    with pytest.raises(HostUnavailable) as told, while_looking():
        raise Unanswered("no answer", look_at=look_at)
    assert told.value.advice == advice


@pytest.mark.parametrize("usual", [AwsTiming(), GceTiming()], ids=["aws", "gcp"])
def test_it_is_waited_for_longer(usual):
    metal = usual.for_bare_metal()
    assert metal.instance_s == metal.ssh_s == metal.ready_s == usual.metal_s > usual.ssh_s
    assert dataclasses.replace(usual, ssh_s=9000.0).for_bare_metal().ssh_s == 9000.0
    assert metal.delete_s == usual.delete_s


def test_googles_names_tell_it():
    for name, is_metal in (("c3-standard-192-metal", True), ("c3-standard-8", False)):
        machine = GcpMachine(type=name, arch="x86_64", vcpus=4, memory_bytes=1, max_disks=1)
        assert machine.bare_metal is is_metal
