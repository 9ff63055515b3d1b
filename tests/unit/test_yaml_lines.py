"""YAML with the line of every value, and every mistake in it."""

import sys
from itertools import pairwise

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rigs.searching import examples

from diskbench.limits import YAML_VALUES
from diskbench.yaml_lines import read_yaml

ALIASES = "a: &a [1,1,1,1,1,1,1,1,1,1]\n" + "".join(
    f"{name}: &{name} [{','.join([f'*{before}'] * 10)}]\n" for before, name in pairwise("abcdefghi")
)


def told(text: str) -> list[str]:
    return [one.text_in("f") for one in read_yaml(text).mistakes]


def test_each_value_knows_its_line():
    found = read_yaml("a: 1\nb:\n  - x\n  - c: 2\n    d: 3\n")
    assert found.data == {"a": 1, "b": ["x", {"c": 2, "d": 3}]}
    assert not found.mistakes
    lines = {("a",): 1, ("b",): 2, ("b", 0): 3, ("b", 1): 4, ("b", 1, "c"): 4, ("b", 1, "d"): 5}
    assert found.lines == {(): 1, **lines}


def test_what_is_not_there_has_the_line_of_what_is_around_it():
    found = read_yaml("a: 1\nb:\n  c: 2\n")
    assert found.line_of(("b", "x", 3)) == 2
    assert found.line_of(("z",)) == 1


def test_anchors_and_merge_keys_work_and_point_to_where_the_value_stands():
    found = read_yaml(
        "a: &a {p: 1, q: 2}\nb:\n  <<: *a\n  q: 3\nc: *a\nd: {<<: [*a, {r: 4}], s: 5}\n"
    )
    assert found.data["b"] == {"q": 3, "p": 1}
    assert found.data["c"] == {"p": 1, "q": 2}
    assert found.data["d"] == {"s": 5, "p": 1, "q": 2, "r": 4}
    assert (found.lines["b", "q"], found.lines["b", "p"]) == (4, 1)
    assert not found.mistakes


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("", "f:1: the file is empty"),
        ("# nothing\n", "f:1: the file is empty"),
        ("a: [1,\nb: 2\n", "f:1: not valid YAML: while parsing a flow sequence"),
        ("a:\n\t- b\n", "f:2: not valid YAML: while scanning"),
        ("a: *b\n", "f:1: not valid YAML: found undefined alias"),
        ("a: 1\n---\nb: 2\n", "f:2: not valid YAML: expected a single document"),
        ("x: 1\na: \x07\n", "f:2: not valid YAML: special characters"),
        ("a:\nb: 1\n", "f:1: 'a' has no value; give one, or leave it out"),
        ("a: [1, ~]\n", "f:1: an entry has no value"),
        ("x: 1\na: 2018-12-01\n", "f:2: '2018-12-01' reads as a date; put it in quotes"),
        ("a: 2018-13-01\n", "f:1: '2018-13-01': month must be in"),
        ("1: a\n", "f:1: the key '1' is not text; put it in quotes"),
        ("on: a\n", "f:1: the key 'on' is not text"),
        ("? [a]\n: b\n", "f:1: the key 'a list or mapping' is not text"),
        ("a: !!python/object:os.system x\n", "f:1: 'x': could not determine a constructor"),
        ("a: !mine {b: 1}\n", "f:1: the tag '!mine' means nothing here"),
        ("a: 1\nb: 2\na: 3\n", "f:3: 'a' is given twice, first in line 1"),
        ('!!int "": 1\n', "f:1: '' is not a valid int"),
        ("a: &a [*a]\n", "f:1: an anchor that holds itself"),
        ("a: {<<: 3}\n", "f:1: << takes a mapping, or a list of mappings"),
        ("[" * 1500, "f:1: nested too deeply"),
        (ALIASES, f"f:1: more than {YAML_VALUES:,} values, aliases included"),
    ],
)
def test_what_cannot_be_read_is_told_with_its_line(text, mistake):
    assert told(text)[0].startswith(mistake)


def test_mistakes_are_told_together():
    assert len(told("a: 1\na: 2\nb:\n1: c\n")) == 3


TEXT = st.characters(codec="utf-8", exclude_characters="\0")
"""What YAML can hold, and a database keeps."""
PLAIN = st.recursive(
    st.integers(-(2**63) + 1, 2**63 - 1)
    | st.booleans()
    | st.floats(allow_nan=False)
    | st.text(TEXT, max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(TEXT, max_size=6), inner),
    max_leaves=12,
)


@settings(deadline=None, max_examples=examples(60))
@given(PLAIN)
def test_what_is_right_is_read_as_any_yaml_library_reads_it(data):
    text = yaml.safe_dump(data)
    found = read_yaml(text)
    assert found.data == yaml.safe_load(text)
    assert not found.mistakes


@settings(deadline=None, max_examples=examples(150))
@given(st.text(st.sampled_from("ab:{}[]&*!-<>|'\"\n \t#,?%~1"), max_size=40))
def test_whatever_is_written_is_read_or_told(text):
    found = read_yaml(text)
    assert found.mistakes or found.data is not None
    assert all(one.line >= 1 for one in found.mistakes)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ('!!int ""', "'' is not a valid int"),
        ('!!float ""', "'' is not a valid float"),
        ("!!bool x", "'x' is not a valid bool"),
        ("!!timestamp x", "'x' is not a valid timestamp"),
        ("1" + ":1" * 300 + ".5", "is not a valid float"),
        ("0x" + "f" * 16, "is too large"),
        ("-0x" + "f" * 50_000, "is too large"),
    ],
)
def test_a_value_that_its_tag_does_not_fit_is_a_mistake(value, words):
    (message,) = told(f"a: 1\nb: {value}\n")
    assert message.startswith("f:2: ")
    assert words in message
    assert len(message) < 300


def test_the_largest_whole_number_is_taken():
    assert read_yaml(f"a: {2**63 - 1}").data == {"a": 2**63 - 1}


@pytest.mark.slow
def test_mistakes_and_merges_by_the_thousand_take_time_by_their_number():
    """Of the steps of the reader itself, so that no machine's speed counts."""
    for line in ("  -\n", "  - <<: *b\n"):
        steps = [_steps(f"b: &b {{q: 1}}\na:\n{line * count}") for count in (200, 800)]
        assert steps[1] < 6 * steps[0], (line, steps)


def _steps(text: str) -> int:
    """How many lines of diskbench's reader run for `text`."""
    count = 0

    def each(frame, event, _):
        nonlocal count
        if not frame.f_code.co_filename.endswith("yaml_lines.py"):
            return None
        count += event == "line"
        return each

    before = sys.gettrace()
    sys.settrace(each)
    try:
        read_yaml(text)
    finally:
        sys.settrace(before)
    return count
