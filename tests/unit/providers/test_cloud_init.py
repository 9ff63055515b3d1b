"""What a guest is told for its first boot; its own preparation by the real script, with a package
manager that has its moods. A cloud's guest agent leaves the host key alone."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr, ValidationError

from diskbench.errors import InvalidValue
from diskbench.providers import cloud_init, scripts
from diskbench.providers.cloud_init import GuestSpec, extend_timer, user_data
from diskbench.providers.scripts import script

DISKS = Path(scripts.__file__).with_name("disks.py")
GOLDEN = Path(__file__).parents[2] / "cases" / "cloud_init" / "ubuntu.yaml"
PRIVATE = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaA==\n-----END OPENSSH PRIVATE KEY-----\n"


def guest(**changes):
    given = {
        "hostname": "diskbench-01jd0000000000000000000000-vm",
        "user": "ubuntu",
        "host_key_private": SecretStr(PRIVATE),
        "host_key_public": "ssh-ed25519 AAAAC3NzaHost",
        "authorized_key": "ssh-ed25519 AAAAC3NzaUser",
        "expires_at": 1_795_272_000.25,
        "packages": ("fio", "mdadm"),
    }
    return GuestSpec(**given | changes)


def told(**changes):
    return yaml.safe_load(user_data(guest(**changes)))


def test_user_data_is_what_was_reviewed_and_more_than_ec2_takes_is_refused():
    text = GOLDEN.read_text()
    assert user_data(guest()) == user_data(guest()) == text
    assert len(text.encode()) < cloud_init.MAX_USER_DATA_BYTES / 2
    packages = tuple(f"a-package-of-a-long-name-{n:04}" for n in range(500))
    with pytest.raises(InvalidValue, match=r"has \d\d,\d{3} bytes, more than the 16,384"):
        user_data(guest(packages=packages))


def test_root_may_log_in_where_root_is_the_user_and_the_private_key_never_shows():
    config = told(user="root")
    assert config["disable_root"] is False
    assert "user" not in config
    for shown in (repr(guest()), str(guest()), guest().model_dump_json()):
        assert PRIVATE.splitlines()[1] not in shown


@pytest.mark.parametrize("number", [0, 1, 2])
def test_every_script_is_sound_shell(number):
    config = told()
    scripts = [entry[-1] for entry in (*config["bootcmd"], *config["runcmd"])]
    scripts.append(extend_timer(1_795_272_000, left_s=60))
    assert len(scripts) == 3
    done = subprocess.run(
        ["shellcheck", "--shell=sh", "--exclude=SC2034", "-"],
        input=scripts[number], capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout == ""


@pytest.mark.parametrize("package", ["fio; reboot", "$(id)", "", "-y", "a b", "fio\n"])
def test_what_is_no_package_name_is_refused(package):
    with pytest.raises(InvalidValue, match="not a name of a package"):
        user_data(guest(packages=(package,)))


@pytest.mark.parametrize(
    "changes",
    [
        {"hostname": "-box"}, {"hostname": "box.example.com"}, {"hostname": "x" * 64},
        {"user": "Robert'); DROP"}, {"host_key_public": "ssh-rsa AAAA"},
        {"authorized_key": "ssh-ed25519 AAAA\nssh-ed25519 BBBB"}, {"expires_at": 0},
        {"expires_at": 1e12}, {"expires_at": float("nan")}, {"uptime_limit_s": 0},
    ],
)  # fmt: skip
def test_a_guest_that_cannot_be_is_refused(changes):
    with pytest.raises(ValidationError):
        guest(**changes)


@pytest.mark.slow
@given(
    private=st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs"))).map(
        lambda text: f"{text}\n{text}\n"
    ),
    comment=st.from_regex(r"[ -~]*", fullmatch=True),
)
def test_whatever_the_keys_hold_arrives_unchanged(private, comment):
    key = f"ssh-ed25519 AAAA {comment}x"
    config = told(host_key_private=SecretStr(private), authorized_key=key)
    assert config["ssh_keys"]["ed25519_private"] == private
    assert config["ssh_authorized_keys"] == [key]


@given(st.floats(min_value=1, max_value=4_102_444_799))
def test_the_timer_never_goes_off_before_the_lease_ends(expires_at):
    moment = re.search(r"^expires=(\d+)$", extend_timer(expires_at), re.M)
    assert 0 <= int(moment[1]) - expires_at < 1


@pytest.mark.parametrize("expires_at", [0, -1, 5e9, float("nan"), float("inf")])
def test_a_lease_that_ends_at_no_time_is_refused(expires_at):
    with pytest.raises(InvalidValue, match="cannot end at"):
        extend_timer(expires_at)


def test_a_machine_without_a_switch_is_given_none_and_another_is_up_as_long_as_its_lease():
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", "mount -t tmpfs none /etc/systemd && exec sh -s"],
        input=extend_timer(1_795_272_000), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 3
    assert "no dead-man's switch" in done.stderr
    lease_id, made_at = "01m7zbr8rkd5t7qb6q0am5m98c", 1795275105.0
    day, three_days = 24 * 3600, 3 * 24 * 3600
    limit_s = cloud_init.uptime_limit_s
    assert limit_s(lease_id, made_at + 600) == limit_s("somebody-elses", 4e9) == day
    assert limit_s(lease_id, made_at + three_days) == pytest.approx(three_days, abs=1)


# In a mount namespace of its own: nothing of the machine's own /var/lib is touched, and time passes
# by sleeping only.
AROUND = """
mount -t tmpfs none /var/lib && mkdir -p bin && echo "100.00 200.00" >uptime
mount --bind uptime /proc/uptime
PATH=$PWD/bin:$PATH
sh prepare.sh >prepared 2>&1 && echo "exit 0" || echo "exit $?"
python3 -I -S disks.py ready
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


def unshared(place: Path, around: str, **commands: str) -> str:
    """What the script prints in a mount namespace of its own, with these commands in `bin`."""
    (place / "bin").mkdir()
    for name, text in commands.items():
        (place / "bin" / name).write_text(f"#!/bin/sh\ncd {shlex.quote(str(place))}\n{text}\n")
        (place / "bin" / name).chmod(0o755)
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-euc", around],
        cwd=place, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout


def prepare(place: Path, moody: int, *, has: tuple[str, ...] = ()) -> list[str]:
    """What the script's end and disks.py say, when apt fails `moody` times."""
    (place / "moody").write_text(f"{moody}\n")
    for name in has:
        (place / f"has-{name}").touch()
    (place / "prepare.sh").write_text(yaml.safe_load(user_data(guest()))["runcmd"][0][-1])
    (place / "disks.py").write_text(DISKS.read_text())
    return unshared(place, AROUND, **COMMANDS).splitlines()


@pytest.mark.parametrize(
    ("has", "asked"), [(("fio",), ["update", "mdadm"]), (("fio", "mdadm"), [])]
)
def test_what_is_missing_is_installed_and_no_mirror_asked_for_anything_else(tmp_path, has, asked):
    (tmp_path / "asked").touch()
    assert prepare(tmp_path, 0, has=has) == ["exit 0", "ready"]
    lines = (tmp_path / "asked").read_text().splitlines()
    assert [line.split()[-1] for line in lines] == asked


def test_a_mirror_that_stays_away_is_given_up_with_its_last_word(tmp_path):
    why = "failed could not install fio mdadm : mirror is away"
    assert prepare(tmp_path, 999) == ["exit 1", why]
    waited = sum(map(int, (tmp_path / "slept").read_text().split()))
    assert 600 <= waited <= 640


def test_a_mirror_that_comes_back_is_waited_for(tmp_path):
    assert prepare(tmp_path, 3) == ["exit 0", "ready"]
    assert (tmp_path / "slept").read_text().split() == ["5", "10", "20"]


@pytest.mark.parametrize(
    ("has", "said"),
    [(("cloud-init",), "waiting"), (("fio",), "ready"), ((), "failed there is neither")],
)
def test_a_guest_that_has_not_said_anything_is_judged_by_what_it_has(tmp_path, has, said):
    cloud = "mkdir /run/cloud-init\n" if "cloud-init" in has else ""
    around = f"mount -t tmpfs none /var/lib\nmount -t tmpfs none /run\n{cloud}PATH=$PWD/bin\n"
    around += f"exec {sys.executable} {DISKS} ready"
    fio = {"fio": ""} if "fio" in has else {}
    assert unshared(tmp_path, around, **fio).startswith(said)


GOOGLES = "/etc/default/instance_configs.cfg"
IMAGES_OWN = "[Daemons]\naccounts_daemon = true\n\n[InstanceSetup]\nset_host_keys = true\nx = 1\n"
AZURES = "/etc/waagent.conf"
DEBIANS = "Provisioning.Agent=cloud-init\nProvisioning.SshHostKeyPairType=auto\nLogs.Verbose=n\n"
WANTED = "Provisioning.SshHostKeyPairType=ed25519\n"
SCRIPTS = {
    GOOGLES: "cloud=google\n" + script("host_key.sh"),
    AZURES: "cloud=azure\n" + script("host_key.sh"),
}


@pytest.mark.parametrize(
    ("file", "before", "after"),
    [
        (GOOGLES, None, "[InstanceSetup]\nset_host_keys = false\n"),
        (GOOGLES, "[Daemons]\nx = 1\n",
         "[Daemons]\nx = 1\n[InstanceSetup]\nset_host_keys = false\n"),
        (GOOGLES, IMAGES_OWN, IMAGES_OWN.replace("set_host_keys = true", "set_host_keys = false")),
        (AZURES, None, ""),
        (AZURES, DEBIANS, DEBIANS.replace("=auto", "=ed25519")),
        (AZURES, "  Provisioning.SshHostKeyPairType = rsa # old\n", WANTED),
        (AZURES, "#Provisioning.SshHostKeyPairType=auto\n",
         f"#Provisioning.SshHostKeyPairType=auto\n\n{WANTED}"),
        (AZURES, "Logs.Verbose=n", f"Logs.Verbose=n\n{WANTED}"),
    ],
)  # fmt: skip
def test_the_agent_is_told_to_leave_the_host_key_alone(tmp_path, file, before, after):
    """By a script that may run twice."""
    (tmp_path / "before").write_text(before or "")
    (tmp_path / "script").write_text(SCRIPTS[file])
    place = f"cp before {file}" if before is not None else ":"
    shown = f"if [ -e {file} ]; then cat {file}; fi"
    around = f"mount -t tmpfs none {Path(file).parent}"
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-ec", f"{around}; {place}; sh script; sh script; {shown}"],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == after


def test_it_is_sound_shell():
    done = subprocess.run(
        ["shellcheck", "--shell=sh", "-"],
        input=SCRIPTS[AZURES], capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout == ""


def test_it_goes_before_everything_else_and_once_only():
    guest = GuestSpec(
        hostname="box", user="ubuntu", host_key_private=SecretStr("key\n"),
        host_key_public="ssh-ed25519 AAAA", authorized_key="ssh-ed25519 BBBB",
        expires_at=1_795_272_000, first=SCRIPTS[GOOGLES],
    )  # fmt: skip
    first, second = yaml.safe_load(user_data(guest))["bootcmd"]
    assert first[:3] == ["cloud-init-per", "instance", "diskbench-first"]
    assert "set_host_keys = false" in first[-1]
    assert second[2] == "diskbench-deadman"
