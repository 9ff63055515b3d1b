import subprocess

import pytest

from diskbench.errors import HostUnavailable, MeasurementFailed, ProfileError, TargetRefused
from diskbench.hosts.directory import check_directory
from diskbench.hosts.install import install_fio
from diskbench.hosts.local import LocalHost
from diskbench.hosts.parse_only import parse_only
from diskbench.hosts.workspace import make_workspace
from diskbench.units import GIB, MIB

HERE = LocalHost()


def refused(path, size=None):
    with pytest.raises(TargetRefused) as caught:
        check_directory(HERE, str(path), size)
    return str(caught.value)


def test_a_writable_directory_gives_the_bytes_that_may_be_used_and_is_left_as_it_was(tmp_path):
    assert check_directory(HERE, str(tmp_path), 1 * MIB) > 1 * MIB
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_directory_to_measure_in(tmp_path):
    file = tmp_path / "file"
    file.touch()
    assert "does not exist" in refused(tmp_path / "missing")
    assert "is no directory" in refused(file)
    assert "no absolute path" in refused("relative")


def test_a_read_only_filesystem_is_named_as_such(tmp_path):
    at = tmp_path / "ro"
    at.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "none", str(at)], check=True)
    try:
        assert "Read-only file system" in refused(at)
    finally:
        subprocess.run(["umount", str(at)], check=True)


def test_more_than_the_free_space_less_a_reserve_is_refused(tmp_path):
    at = tmp_path / "small"
    at.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2g", "none", str(at)], check=True)
    try:
        assert check_directory(HERE, str(at), GIB) == pytest.approx(2 * GIB * 0.95)
        assert "2 GiB is more than the free space" in refused(at, 2 * GIB)
    finally:
        subprocess.run(["umount", str(at)], check=True)


def test_a_path_with_odd_characters(tmp_path):
    odd = tmp_path / "a'b $(touch x) ; é"
    odd.mkdir()
    assert check_directory(HERE, str(odd), 1)


def test_fio_itself_refuses_a_job_file_with_its_own_words():
    good = "[x]\nrw=read\nsize=1m\nfilename=/tmp/x\n"
    parse_only(HERE, [("a", good), ("b", good)])
    with pytest.raises(ProfileError, match=r"refuses step b: .*nonsense"):
        parse_only(HERE, [("a", good), ("b", good + "nonsense=1\n")])


def test_installing_where_fio_is_does_nothing():
    install_fio(HERE)


def test_an_install_that_cannot_work_says_why(monkeypatch, tmp_path):
    for tool in ("sh", "id", "true"):
        where = subprocess.run(["which", tool], capture_output=True, text=True, check=True)
        (tmp_path / tool).symlink_to(where.stdout.strip())
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(HostUnavailable, match="none of apt-get, dnf, yum, zypper and apk"):
        install_fio(HERE)


def test_a_workspace_that_somebody_else_made_is_not_used(target):
    subprocess.run(["install", "-d", "-o", "65534", target.state_dir], check=True)
    with pytest.raises(MeasurementFailed, match="belongs to somebody else"):
        make_workspace(HERE, target)
