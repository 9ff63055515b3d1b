"""Whatever the umask says, only their owner may read what a run leaves; pages are for readers."""

import shutil
import stat
from pathlib import Path

import pytest
from tests.rigs.waiting import ended

GOBONNIEGO = Path(__file__).parents[1] / "cases/imported/gobonniego-1.0.9.json"


def open_to_others(*tops):
    """Everything below these directories that others may use, or that its owner may not."""
    found = []
    for path in (one for top in tops for one in (top, *sorted(top.rglob("*")))):
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode) or stat.S_ISSOCK(mode):
            continue
        owners = 0o700 if stat.S_ISDIR(mode) else 0o600
        if stat.S_IMODE(mode) & 0o077 or stat.S_IMODE(mode) & owners != owners:
            found.append(f"{stat.S_IMODE(mode):03o} {path}")
    return found


def done(user, umask, line):
    ended(user.start(*line.split(), umask=umask))


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077], ids=["000", "022", "077"])
def test_what_a_run_leaves_is_for_its_owner_alone(user, target, umask):
    """Umask 000, 022 or 077; runs, a matrix, an import, a prune and a report: 700 and 600."""
    measured = f"--path {target} --profile {user.job()}"
    shutil.copy(GOBONNIEGO, user.home / "theirs.json")
    cell = f"{{provider: local, path: {target}, profile: ./mine.fio}}"
    user.job(f"name: m\ndefaults: {cell}\n", "m.yaml")
    for line in (
        *(f"run {measured}", f"run --detach {measured}", "matrix run m.yaml"),
        *("results import theirs.json", "results show last", "results prune --keep 0s -y"),
    ):
        done(user, umask, line)
    tops = [path for path in user.home.iterdir() if path.name.startswith(".")]
    assert (user.home / ".local/share/diskbench/evidence/runs").is_dir()
    assert open_to_others(*tops) == []
    assert list(target.iterdir()) == []


@pytest.mark.parametrize("umask", [0o022, 0o077], ids=["022", "077"])
def test_pages_follow_the_umask(user, umask):
    """Umask 022 or 077 when a site and a report are written: pages are for readers."""
    shutil.copy(GOBONNIEGO, user.home / "theirs.json")
    done(user, umask, "results import theirs.json")
    done(user, umask, "publish site --with-evidence -q")
    done(user, umask, "report last -o page.html")
    modes = {
        stat.S_IMODE(path.stat().st_mode)
        for path in (user.home / "site").rglob("*")
        if path.is_file() and path.suffix != ".sqlite"
    } | {stat.S_IMODE((user.home / "page.html").stat().st_mode)}
    assert modes == {0o666 & ~umask}
