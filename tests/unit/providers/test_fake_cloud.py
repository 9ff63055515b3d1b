"""A process that is killed while it makes or deletes leaves a whole resource, or none."""

import pytest
from tests.rigs.books import in_directories

from diskbench.providers.fake import cloud as fake
from diskbench.providers.fake.cloud import FakeCloud


class Killed(BaseException):
    """The process ends here."""


def test_a_deletion_that_is_cut_short_leaves_no_resource_without_its_tags(tmp_path, monkeypatch):
    cloud = FakeCloud(tmp_path)
    cloud.make("one", {"diskbench-lease": "l"})

    def cut_short(path):
        next(path.rglob("tags.json")).unlink()
        raise Killed

    monkeypatch.setattr(fake.shutil, "rmtree", cut_short)
    with pytest.raises(Killed):
        cloud.delete("one")
    assert in_directories(cloud.place) == []
    cloud.make("one", {"diskbench-lease": "l"})
    assert [name for name, _ in cloud.things()] == ["one"]


def test_a_resource_is_there_once_it_is_made_and_until_it_was_deleted_by_anybody(
    tmp_path, monkeypatch
):
    cloud = FakeCloud(tmp_path)

    def cut_short(*_):
        raise Killed

    with monkeypatch.context() as killed:
        killed.setattr(fake, "_write", cut_short)
        with pytest.raises(Killed):
            cloud.make("one", {})
    assert in_directories(cloud.place) == []
    cloud.make("one", {})
    assert cloud.exists("one")
    for _ in range(2):  # another process may have deleted it
        cloud.delete("one")
    assert list(cloud.things()) == []
