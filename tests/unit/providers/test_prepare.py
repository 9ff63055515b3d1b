"""The guest's own preparation: the real script, with a package manager that has its moods."""

import shlex
import subprocess
from pathlib import Path

import pytest
import yaml
from tests.unit.providers.test_cloud_init import guest

from diskbench.providers.cloud_init import ready_script, user_data

# In a mount namespace of its own: nothing of the machine's own /var/lib is touched, and time passes
# by sleeping only.
AROUND = """
mount -t tmpfs none /var/lib && mkdir -p bin && echo "100.00 200.00" >uptime
mount --bind uptime /proc/uptime
PATH=$PWD/bin:$PATH
sh prepare.sh >prepared 2>&1 && echo "exit 0" || echo "exit $?"
sh ready.sh
"""
COMMANDS = {
    "sleep": """echo "$1" >>slept
read -r up idle <uptime; echo "$((${up%.*} + $1)).00 $idle" >uptime""",
    "dpkg-query": 'for name; do :; done; [ -e "has-$name" ] && printf installed',
    # Fails as often as the file `moody` says, then installs whatever it is asked for.
    "apt-get": """echo "$*" >>asked
case "$*" in *update) exit 0 ;; esac
left=$(cat moody)
if [ "$left" -gt 0 ]; then echo $((left - 1)) >moody; echo "mirror is away"; exit 100; fi
for name; do case $name in fio | mdadm) : >"has-$name" ;; esac; done""",
}


def prepare(place: Path, moody: int, *, has: tuple[str, ...] = ()) -> list[str]:
    """What the script's end and `ready_script` say, when apt fails `moody` times."""
    (place / "bin").mkdir()
    for name, text in COMMANDS.items():
        (place / "bin" / name).write_text(f"#!/bin/sh\ncd {shlex.quote(str(place))}\n{text}\n")
        (place / "bin" / name).chmod(0o755)
    (place / "moody").write_text(f"{moody}\n")
    for name in has:
        (place / f"has-{name}").touch()
    (place / "prepare.sh").write_text(yaml.safe_load(user_data(guest()))["runcmd"][0][-1])
    (place / "ready.sh").write_text(ready_script())
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-euc", AROUND],
        cwd=place, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout.splitlines()


def test_what_is_missing_is_installed_and_nothing_else(tmp_path):
    assert prepare(tmp_path, 0, has=("fio",)) == ["exit 0", "ready"]
    assert [line.split()[-1] for line in (tmp_path / "asked").read_text().splitlines()] == [
        "update",
        "mdadm",
    ]


def test_a_guest_that_has_everything_asks_no_mirror(tmp_path):
    assert prepare(tmp_path, 0, has=("fio", "mdadm")) == ["exit 0", "ready"]
    assert not (tmp_path / "asked").exists()


def test_a_mirror_that_comes_back_is_waited_for(tmp_path):
    assert prepare(tmp_path, 3) == ["exit 0", "ready"]
    assert (tmp_path / "slept").read_text().split() == ["5", "10", "20"]


def test_a_mirror_that_stays_away_is_given_up_with_its_last_word(tmp_path):
    assert prepare(tmp_path, 999) == [
        "exit 1",
        "failed could not install fio mdadm : mirror is away",
    ]
    waited = sum(map(int, (tmp_path / "slept").read_text().split()))
    assert 600 <= waited <= 640


@pytest.mark.parametrize(
    ("has", "said"),
    [(("cloud-init",), "waiting"), (("fio",), "ready"), ((), "failed there is neither")],
)
def test_a_guest_that_has_not_said_anything_is_judged_by_what_it_has(tmp_path, has, said):
    (tmp_path / "bin").mkdir()
    if "fio" in has:
        (tmp_path / "bin" / "fio").write_text("#!/bin/sh\n")
        (tmp_path / "bin" / "fio").chmod(0o755)
    cloud = "mkdir /run/cloud-init\n" if "cloud-init" in has else ""
    around = f"mount -t tmpfs none /var/lib\nmount -t tmpfs none /run\n{cloud}PATH=$PWD/bin\n"
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-euc", around + ready_script()],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.startswith(said)
