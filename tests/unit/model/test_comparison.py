"""The order of runs in blocks of A B B A, and their labels."""

from itertools import pairwise

from diskbench.cli.ab import arguments_of
from diskbench.model.comparison import block_of, labels_at, turns

SIDES = ("old", "new")


def test_a_block_is_abba_named_by_its_labels_and_what_was_done_is_not_done_again() -> None:
    assert [side for _, side in turns(SIDES, 2, {})] == ["old", "new", "new", "old"] * 2
    done = {(1, "old"): 1, (1, "new"): 2}
    assert turns(SIDES, 2, done)[0] == (1, "old")
    assert len(turns(SIDES, 2, done)) == 5
    assert turns(SIDES, 1, {(1, "old"): 2, (1, "new"): 2}) == []
    assert block_of(labels_at("s", "old", 3)) == "s/3"
    assert block_of({"ab": "s"}) == ""
    assert block_of({"ab-block": "3"}) == ""
    assert block_of(None) == ""


def test_a_run_has_the_labels_of_its_turn_and_those_that_were_typed() -> None:
    typed = {
        "profile": "quick", "path": "/mnt", "size": None, "host": ["root@db1"],
        "parameters": ["bs=4k"], "labels": ["team=x"], "install_fio": False,
        "database_url": None, "evidence_url": None,
    }  # fmt: skip
    words = arguments_of(typed, labels_at("s", "new", 2))
    labels = [word for flag, word in pairwise(words) if flag == "--label"]
    assert labels == ["team=x", "ab=s", "ab-side=new", "ab-block=2"]
    assert words[words.index("--host") + 1] == "root@db1"
    assert "--size" not in words
