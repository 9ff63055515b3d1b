import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from tests.rigs.loops import tmpfs
from tests.rigs.windows import first_on_path, program

from diskbench import errors
from diskbench.hosts.directory import require_absolute, usable_bytes
from diskbench.hosts.facts import gather_and_look
from diskbench.hosts.installed_fio import install_fio, parse_only
from diskbench.hosts.jobs import start_and_watch
from diskbench.hosts.local import LocalHost
from diskbench.hosts.workspace import cleanup, make_workspace
from diskbench.units import GIB, MIB

HERE = LocalHost()


def check_directory(host, path, size):
    """The bytes that may be used in `path`, looked at as before a run."""
    require_absolute(path)
    _, looked = gather_and_look(host, path, device=False, look=True)
    return usable_bytes(looked, host.name, path, size)


def refused(path, size=None):
    with pytest.raises(errors.TargetRefused) as caught:
        check_directory(HERE, str(path), size)
    return str(caught.value)


def test_a_directory_of_any_name_gives_the_bytes_that_may_be_used_and_is_left_as_it_was(tmp_path):
    assert check_directory(HERE, str(tmp_path), 1 * MIB) > 1 * MIB
    assert list(tmp_path.iterdir()) == []
    odd = tmp_path / "a'b $(touch x) ; é"
    odd.mkdir()
    assert check_directory(HERE, str(odd), 1)


def test_what_is_no_directory_to_measure_in(tmp_path):
    file = tmp_path / "file"
    file.touch()
    assert "does not exist" in refused(tmp_path / "missing")
    assert "is not a directory" in refused(file)
    assert "not an absolute path" in refused("relative")
    with tmpfs(tmp_path / "mounted", "1m,ro") as at:
        assert "Read-only file system" in refused(at)


@pytest.mark.slow
def test_more_than_the_free_space_less_a_reserve_is_refused(tmp_path):
    with tmpfs(tmp_path / "mounted", "2g") as at:
        assert check_directory(HERE, str(at), GIB) == pytest.approx(2 * GIB * 0.95)
        assert "2 GiB is more than the free space" in refused(at, 2 * GIB)


@pytest.mark.slow
def test_fio_refuses_a_job_file_with_its_own_words_reading_all_at_once(monkeypatch, tmp_path):
    good = "[x]\nrw=read\nsize=1m\nfilename=/tmp/x\n"
    parse_only(HERE, [("a", good), ("b", good)])
    with pytest.raises(errors.ProfileError, match=r"refuses step b: .*nonsense"):
        parse_only(HERE, [("a", good), ("b", good + "nonsense=1\n")])
    starts, fio = tmp_path / "starts", tmp_path / "fio"
    program(fio, f'echo >>{starts}\nexec {shutil.which("fio")} "$@"')
    monkeypatch.setenv("PATH", first_on_path(tmp_path))
    parse_only(HERE, [(name, "[x]\nrw=read\nsize=1m\nfilename=/tmp/x\n") for name in "abc"])
    assert len(starts.read_text()) == 1


def test_installing_where_fio_is_does_nothing_and_what_fails_says_why(monkeypatch, tmp_path):
    install_fio(HERE)
    for tool in ("sh", "id", "true"):
        where = subprocess.run(["which", tool], capture_output=True, text=True, check=True)
        (tmp_path / tool).symlink_to(where.stdout.strip())
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(errors.HostUnavailable, match="none of apt-get, dnf, yum, zypper and apk"):
        install_fio(HERE)


# --- Root, and who else may write above the target


@pytest.fixture
def foreign(tmp_path):
    """A directory of another user, and one of root's in it."""
    home = tmp_path / "home"
    (home / "root's").mkdir(parents=True)
    home.chmod(0o755)
    os.chown(home, 65534, 65534)
    return home


@pytest.mark.slow
def test_root_does_not_measure_where_another_user_could_put_a_link(foreign, tmp_path):
    assert "user nobody can put a symbolic link in its place" in refused(foreign)
    assert f"(see {foreign})" in refused(foreign / "root's")
    (foreign / "link").symlink_to(tmp_path)
    (tmp_path / "to-link").symlink_to("home/link")
    assert f"(see {tmp_path}/home)" in refused(tmp_path / "to-link")


@pytest.mark.slow
def test_what_everybody_or_a_group_may_write_to_is_refused_unless_it_is_sticky(tmp_path):
    at = tmp_path / "shared"
    at.mkdir()
    at.chmod(0o777)
    assert "any user can put" in refused(at)
    at.chmod(0o1777)
    check_directory(HERE, str(at), 1)
    at.chmod(0o775)
    os.chown(at, 0, 65534)
    assert "group nogroup can put" in refused(at)
    at.chmod(0o755)
    check_directory(HERE, str(at), 1)


def test_root_by_sudo_or_where_the_owner_is_not_known_measures_with_a_warning(
    foreign, monkeypatch, caplog, tmp_path
):
    monkeypatch.setenv("SUDO_UID", "65534")
    monkeypatch.setenv("SUDO_USER", "nobody")
    check_directory(HERE, str(foreign), 1)
    assert f"user nobody can replace {foreign} while root measures there" in caplog.text
    os.chown(tmp_path, 54_321, 54_321)
    check_directory(HERE, str(tmp_path), 1)
    assert f"user UNKNOWN can replace {tmp_path}" in caplog.text
    os.chown(tmp_path, 0, 0)


def test_somebody_who_is_not_root_measures_in_their_own_directory(foreign, as_nobody):
    as_nobody()
    at = Path(tempfile.mkdtemp(dir="/var/tmp"))  # not below root's own 0700
    at.chmod(0o755)
    try:
        check_directory(HERE, str(foreign.rename(at / "home")), 1)
    finally:
        shutil.rmtree(at)


# --- The directory that was made stays the one that is used


@pytest.fixture
def swapped(target, tmp_path):
    """Somebody with rights above it puts something else in place of the work directory."""
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "precious").write_text("x")
    work, away = Path(target.work_dir), Path(target.work_dir + "-away")

    def link():
        work.rename(away)
        work.symlink_to(victim)

    def remade():
        work.rmdir()
        work.mkdir(mode=0o700)
        os.chown(work, 65534, 65534)

    def other():
        work.rename(away)
        work.mkdir(mode=0o700)

    yield {"link": link, "remade": remade, "other": other}, victim
    if work.is_symlink():
        work.unlink()
    elif work.exists():
        work.rmdir()
    if away.exists():
        away.rename(work)


@pytest.mark.parametrize("how", ["link", "remade", "other"])
def test_a_swapped_work_directory_is_not_measured_removed_or_made(swapped, target, make_unit, how):
    swaps, victim = swapped
    unit = make_unit(0.1)
    make_workspace(HERE, target)
    swaps[how]()
    another = "is not the directory that diskbench made"
    with pytest.raises(errors.MeasurementFailed, match=another):
        start_and_watch(HERE, unit, lambda _: None, lambda: False)
    assert not Path(unit.directory, "fio.json").exists()
    with pytest.raises(errors.MeasurementFailed, match=f"{another}|belongs to somebody else"):
        make_workspace(HERE, target)
    with pytest.raises(errors.ReleaseFailed, match=another) as caught:
        cleanup(HERE, target)
    assert caught.value.exit_code == 3
    assert [p.name for p in victim.iterdir()] == ["precious"]
    assert os.path.lexists(target.work_dir)


def test_a_workspace_that_somebody_else_made_or_a_link_in_its_place_is_not_used(target, tmp_path):
    (tmp_path / "victim").mkdir()
    Path(target.work_dir).symlink_to(tmp_path / "victim")
    with pytest.raises(errors.MeasurementFailed, match="belongs to somebody else"):
        make_workspace(HERE, target)
    Path(target.work_dir).unlink()
    subprocess.run(["install", "-d", "-o", "65534", target.state_dir], check=True)
    with pytest.raises(errors.MeasurementFailed, match="belongs to somebody else"):
        make_workspace(HERE, target)
