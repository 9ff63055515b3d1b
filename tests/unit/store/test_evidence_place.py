"""Whose evidence a command may change: the store that its settings name, and no other."""

from collections import Counter

import pytest

from diskbench.errors import InvalidValue
from diskbench.store.evidence_place import check_named, foreign_stores, is_same_store


@pytest.mark.parametrize(
    ("url", "other", "same"),
    [
        ("file:///var/a", "file:///var/a/", True),
        ("file:///var/a", "file:///var/b", False),
        ("s3://bucket/a", "s3://bucket/a/", True),
        ("s3://bucket/a", "s3://bucket/b", False),
        ("s3://bucket/a", "gs://bucket/a", False),
        ("s3://bucket/a", "s3://other/a", False),
    ],
)
def test_two_urls_name_one_store_only_where_place_and_kind_are_equal(url, other, same):
    assert is_same_store(url, other) is same


def test_a_directory_is_known_by_its_place_whatever_leads_there(tmp_path):
    (tmp_path / "real" / "evidence").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert is_same_store(f"file://{tmp_path}/link/evidence", f"file://{tmp_path}/real/evidence")


def test_what_lies_in_a_store_that_the_settings_do_not_name_is_refused_with_its_runs():
    urls = ["file:///var/own", "file:///var/old", "file:///var/old", None]
    assert foreign_stores(urls, "file:///var/own") == Counter({"file:///var/old": 2})
    with pytest.raises(InvalidValue, match="evidence of 2 runs is in ") as refused:
        check_named(urls, "file:///var/own", whether="delete")
    assert "--evidence-url" in refused.value.advice
    check_named(urls[:1], "file:///var/own", whether="delete")
