"""A cell of a living process that no thread works on."""

from diskbench.engine.matrix.stuck_cells import MOST, NOTICED_AFTER_S, StuckCells


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_one_that_is_at_work_is_left_alone_and_one_that_is_not_gets_time():
    clock = Clock()
    looks = StuckCells(clock)
    assert looks.look("a", at_work=False) == "here"
    clock.now += NOTICED_AFTER_S - 1
    assert looks.look("a", at_work=False) == "here"
    assert looks.look("a", at_work=True) == "here"
    clock.now += 2
    assert looks.look("a", at_work=False) == "here", "it was seen meanwhile"


def test_one_that_stays_away_is_taken_up_again_and_given_up_in_the_end():
    clock = Clock()
    looks = StuckCells(clock)
    found = []
    for _ in range(MOST + 1):
        looks.look("a", at_work=False)
        clock.now += NOTICED_AFTER_S
        found.append(looks.look("a", at_work=False))
    assert found == ["again"] * MOST + ["broken"]
