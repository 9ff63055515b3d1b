from hypothesis import given
from hypothesis import strategies as st

from diskbench.report.assemble.seconds import StepSeconds
from diskbench.report.terminal.run_plots import second_lines


def step(name, **directions):
    return StepSeconds(name, {d: tuple(enumerate(values)) for d, values in directions.items()})


def test_a_step_is_a_line_of_blocks_with_its_lowest_and_highest_second():
    assert second_lines([step("burst", read=[3000.0, 3000.0, 100.0])]) == [
        f"burst read {'██▁':<40}  100 to 3,000"
    ]


def test_directions_of_a_step_are_lines_of_their_own():
    lines = second_lines([step("mix", read=[1.0] * 5, write=[2.0] * 5)])
    assert [line.split()[1] for line in lines] == ["read", "write"]


def test_steps_too_short_for_a_course_are_left_out():
    assert second_lines([step("fill", write=[5.0, 5.0])]) == []


names = st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=60)


@given(names, st.lists(st.floats(0, 1e7), min_size=3, max_size=200), st.integers(70, 200))
def test_no_line_is_wider_than_the_screen(name, values, width):
    assert max(map(len, second_lines([step(name, read=values)], width=width))) <= width
