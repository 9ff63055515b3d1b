"""A job file that includes others: read from beside it, and kept whole."""

import pytest

from diskbench.errors import ProfileError
from diskbench.store.profile_file import find_profile


def test_included_files_are_part_of_the_profile(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "job.fio").write_text("[global]\ninclude sub/common.inc ; shared\n[a]\nrw=read\n")
    (tmp_path / "sub/common.inc").write_text("bs=4k\ninclude more.inc\n")
    (tmp_path / "sub/more.inc").write_text("iodepth=4\n")
    template = find_profile(str(tmp_path / "job.fio")).template
    assert [line for line in template.splitlines() if line and not line.startswith(";")] == [
        "[global]", "bs=4k", "iodepth=4", "[a]", "rw=read",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("missing.inc", "cannot be read"),
        ("../outside.inc", "outside its directory"),
        ("/etc/hostname", "outside its directory"),
        ("job.fio", "more than 8 times deep"),
        ("link.inc", "outside"),
    ],
)
def test_a_file_that_cannot_be_included_is_named(tmp_path, name, why):
    folder = tmp_path / "jobs"
    folder.mkdir()
    (tmp_path / "outside.inc").write_text("bs=4k\n")
    (folder / "link.inc").symlink_to(tmp_path / "outside.inc")
    (folder / "job.fio").write_text(f"[global]\ninclude {name}\n[a]\nrw=read\n")
    with pytest.raises(ProfileError, match=why) as caught:
        find_profile(str(folder / "job.fio"))
    assert caught.value.advice


@pytest.mark.slow
def test_files_that_include_each_other_many_times_over_do_not_fill_the_memory(tmp_path):
    for level in range(7):
        (tmp_path / f"{level}.inc").write_text(f"include {level + 1}.inc\n" * 100)
    (tmp_path / "7.inc").write_text("bs=4k\n" * 100)
    (tmp_path / "job.fio").write_text("[a]\nrw=read\ninclude 0.inc\n")
    with pytest.raises(ProfileError, match="more than 8 MiB"):
        find_profile(str(tmp_path / "job.fio"))
