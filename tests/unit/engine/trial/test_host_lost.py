import pytest
from tests.rigs.plans import make_plan

from diskbench.engine.trial.watch import HostLost
from diskbench.errors import AccessDenied, RentalFailed
from diskbench.model.options import RentSpec
from diskbench.model.rental import Rental, Scope

RENTED = make_plan(rental=Rental(scope=Scope(provider="x"), spec=RentSpec(), offer="a machine"))


class Cloud:
    def __init__(self, *answers):
        self.answers = list(answers)

    def gone(self, _lease_id, _scope):
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def test_a_machine_that_comes_back_is_waited_for():
    notes = []
    absence = HostLost(RENTED, Cloud(None, None), notes.append)
    absence.noted_or_raise("lost")
    absence.noted_or_raise("lost again")
    assert absence.reason is None
    assert notes == ["lost", "lost again"]


def test_a_machine_that_its_provider_deleted_is_not_waited_for():
    absence = HostLost(RENTED, Cloud(None, "i-1 was terminated: Server.SpotInstance"), print)
    absence.noted_or_raise("lost")
    with pytest.raises(RentalFailed, match=r"gone: i-1 was terminated: Server\.SpotInstance"):
        absence.noted_or_raise("lost")
    assert absence.reason


def test_a_provider_that_does_not_answer_knows_nothing():
    notes = []
    absence = HostLost(RENTED, Cloud(AccessDenied("the token expired")), notes.append)
    absence.noted_or_raise("lost")
    assert absence.reason is None
    assert "the token expired" in notes[-1]


def test_a_machine_that_was_not_rented_is_never_known_to_be_gone():
    absence = HostLost(make_plan(), None, print)
    absence.noted_or_raise("lost")
    assert absence.reason is None
