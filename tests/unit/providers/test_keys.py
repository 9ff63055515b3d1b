"""The keys of a lease, judged by OpenSSH itself."""

import concurrent.futures
import functools
import getpass
import os
import stat
import subprocess
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import load_ssh_private_key
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretBytes
from tests.rigs.sshd import running_sshd

from diskbench.errors import HostUnavailable, InvalidValue
from diskbench.hosts.ssh import SshHost
from diskbench.providers.keys import lease_keys, load_secret, write_access

SECRET = SecretBytes(b"0123456789abcdef0123456789abcdef")
LEASE = "01jd0000000000000000000000"
KEYS = lease_keys(SECRET, LEASE)

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("user_config")]


@pytest.fixture
def user_config(tmp_path, monkeypatch):
    """The user's OpenSSH configuration: empty, whoever runs the tests. Nor is there a secret."""
    path = tmp_path / "empty_config"
    path.touch()
    monkeypatch.delenv("DISKBENCH_SECRET", raising=False)
    monkeypatch.setenv("DISKBENCH_SSH_CONFIG", str(path))
    return path


@pytest.fixture
def access(tmp_path):
    """Write access to the lease's machine: for `ubuntu` at 192.0.2.7 unless told otherwise."""
    usual = {"address": "192.0.2.7", "user": "ubuntu"}
    return functools.partial(write_access, LEASE, KEYS, tmp_path / "lease", **usual)


def said(config, address):
    """`ssh -G`: every setting with its values."""
    done = subprocess.run(
        ["ssh", "-F", config, "-G", address], capture_output=True, text=True, check=True
    )
    found: dict[str, list[str]] = {}
    for line in done.stdout.splitlines():
        key, _, value = line.partition(" ")
        found.setdefault(key, []).append(value)
    return found


def test_a_secret_is_made_at_first_use_for_its_owner_only(tmp_path):
    file = tmp_path / "data" / "secret"
    first = load_secret(file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert load_secret(file) == first
    assert len(first.get_secret_value()) >= 32
    assert list(file.parent.iterdir()) == [file]


def test_many_that_start_at_once_agree_on_one_secret(tmp_path):
    file = tmp_path / "secret"
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: load_secret(file).get_secret_value(), range(32)))
    assert len(set(found)) == 1


@pytest.mark.parametrize(
    ("mode", "owner", "says"),
    [(0o640, -1, "mode 640"), (0o604, -1, "mode 604"), (0o620, -1, "mode 620"),
     (0o600, 1234, "user 1234")],
)  # fmt: skip
def test_a_secret_that_others_can_reach_or_own_is_refused(tmp_path, mode, owner, says):
    file = tmp_path / "secret"
    load_secret(file)
    file.chmod(mode)
    os.chown(file, owner, -1)
    with pytest.raises(InvalidValue, match=says):
        load_secret(file)


def test_the_environment_goes_before_the_file_and_means_the_same(tmp_path, monkeypatch):
    monkeypatch.setenv("DISKBENCH_SECRET", "e" * 40)
    assert load_secret(tmp_path / "secret") == SecretBytes(b"e" * 40)
    assert not (tmp_path / "secret").exists()
    monkeypatch.delenv("DISKBENCH_SECRET")
    made = load_secret(tmp_path / "secret")
    monkeypatch.setenv("DISKBENCH_SECRET", (tmp_path / "secret").read_text())
    assert load_secret(tmp_path / "other") == made


def test_a_short_secret_is_not_shown_and_one_that_cannot_be_written_says_where(
    tmp_path, monkeypatch
):
    (tmp_path / "file").touch()
    with pytest.raises(InvalidValue, match="file/secret"):
        load_secret(tmp_path / "file" / "secret")
    monkeypatch.setenv("DISKBENCH_SECRET", "letmein")
    with pytest.raises(InvalidValue, match="has 7 bytes, fewer than 32") as caught:
        load_secret(tmp_path / "secret")
    assert "letmein" not in str(caught.value)


@pytest.mark.parametrize("role", ["user", "host"])
def test_openssh_reads_the_private_key_and_agrees_on_the_public_one(tmp_path, role):
    path = tmp_path / "key"
    path.write_text(getattr(KEYS, f"{role}_private").get_secret_value())
    path.chmod(0o600)
    done = subprocess.run(
        ["ssh-keygen", "-y", "-f", str(path)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == getattr(KEYS, f"{role}_public")


def test_every_key_is_another_and_the_derivation_never_changes_and_none_shows():
    """A controller of another version must be able to take a lease over."""
    other = lease_keys(SECRET, LEASE[:-1] + "1")
    stranger = lease_keys(SecretBytes(b"1" * 32), LEASE)
    lines = [k for keys in (KEYS, other, stranger) for k in (keys.user_public, keys.host_public)]
    assert len(set(lines)) == 6
    assert lease_keys(SECRET, LEASE) == KEYS
    user, host = (key.removeprefix("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI") for key in lines[:2])
    assert user == "M3Kjl29bdDDZJTwQIevhCYKTVBBGUQUO8XFPZWxfYmx"
    assert host == "AIN3Y9hW1JV1GnTCsFCwxZZrxho19Jb1hrBlSwuQNkh"
    secret = KEYS.user_private.get_secret_value().splitlines()[3]
    for shown in (repr(KEYS), str(KEYS), KEYS.model_dump_json()):
        assert secret not in shown


@given(st.binary(min_size=32, max_size=64), st.text("0123456789abcdefghjkmnpqrstvwxyz", min_size=1))
def test_any_secret_gives_a_key_that_others_can_read(secret, lease):
    keys = lease_keys(SecretBytes(secret), lease)
    pem = keys.user_private.get_secret_value().encode()
    assert load_ssh_private_key(pem, None).public_key() is not None


def test_what_is_written_is_for_its_owner_only_and_the_same_when_written_twice(access, tmp_path):
    directory, first = tmp_path / "lease", access()
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in directory.iterdir()}
    assert modes == {"key": 0o600, "known_hosts": 0o600, "config": 0o600}
    before = Path(first.config).read_bytes()
    assert access() == first
    assert Path(first.config).read_bytes() == before


def test_trust_hangs_on_the_lease_and_not_on_the_address(access):
    written = access()
    assert said(written.config, "192.0.2.7")["hostkeyalias"] == [LEASE]
    assert Path(written.known_hosts).read_text() == f"{LEASE} {KEYS.host_public}\n"
    assert said(written.config, LEASE)["hostname"] == ["192.0.2.7"]


@pytest.mark.parametrize("address", ["2001:db8::7", "ec2-192-0-2-7.compute.example"])
def test_addresses_of_every_kind_are_matched(access, address):
    found = said(access(address=address).config, address)
    assert (found["user"], found["hostname"]) == (["ubuntu"], [address])


# Gives every host everything, and knows the way to some.
GENEROUS = """
IgnoreUnknown Nothing
Host 192.0.2.*
  HostName 127.0.0.9
  Port 2222
  ProxyCommand nc -X 5 -x bastion:1080 %h %p
Host inner.example
  ProxyJump jump@bastion.example:2200
Host bastion.example
  IdentityFile ~/.ssh/bastion_key
  HostKeyAlias the-bastion
Host *
  User somebody
  IdentityFile ~/.ssh/id_of_mine
  CertificateFile ~/.ssh/id_of_mine-cert.pub
  IdentityAgent /run/agent
  IdentitiesOnly no
  StrictHostKeyChecking no
  UserKnownHostsFile ~/.ssh/known_hosts
  HostKeyAlias everything
  ForwardAgent yes
  RemoteForward 2000 localhost:22
  LocalForward 2001 localhost:22
  SendEnv SECRET_*
  ControlMaster auto
  ControlPath /tmp/%C
"""


def test_the_way_is_the_users_and_key_user_and_trust_are_ours_alone(user_config, access):
    user_config.write_text(GENEROUS)
    generous = access()
    found = said(generous.config, "192.0.2.7")
    expected = {
        "hostname": "127.0.0.9", "port": "2222", "proxycommand": "nc -X 5 -x bastion:1080 %h %p",
        "identityfile": generous.identity_file, "identitiesonly": "yes", "identityagent": "none",
        "user": "ubuntu", "stricthostkeychecking": "true", "hostkeyalias": LEASE,
        "userknownhostsfile": generous.known_hosts, "globalknownhostsfile": "/dev/null",
        # Nothing of the user's is carried to a rented machine.
        "forwardagent": "no", "controlmaster": "false",
    }  # fmt: skip
    assert {key: found[key] for key in expected} == {k: [v] for k, v in expected.items()}
    gone = {"remoteforward", "localforward", "sendenv", "certificatefile", "controlpath"}
    assert not gone & found.keys()
    assert generous.port == 2222


def test_hosts_on_the_way_are_reached_as_the_user_or_a_port_and_a_proxy_say(user_config, access):
    user_config.write_text(GENEROUS)
    config = access(address="inner.example").config
    inner, bastion = said(config, "inner.example"), said(config, "bastion.example")
    assert inner["proxyjump"] == ["jump@bastion.example:2200"]
    assert bastion["identityfile"] == ["~/.ssh/bastion_key", "~/.ssh/id_of_mine"]
    assert bastion["hostkeyalias"] == ["the-bastion"]
    assert bastion["user"] == ["somebody"]
    user_config.write_text(GENEROUS)
    written = access(address="inner.example", port=2022, proxy_command="tunnel %h %p")
    found = said(written.config, "inner.example")
    assert (found["port"], found["proxycommand"]) == (["2022"], ["tunnel %h %p"])
    assert "proxyjump" not in found
    assert written.port == 2022


@pytest.mark.parametrize("named", ["none", "/dev/null"])
def test_no_configuration_at_all_is_one_too(monkeypatch, access, named):
    monkeypatch.setenv("DISKBENCH_SSH_CONFIG", named)
    assert said(access().config, "192.0.2.7")["hostname"] == ["192.0.2.7"]


def test_a_configuration_that_ssh_refuses_is_named(user_config, access):
    user_config.write_text("Nonsense yes\n")
    with pytest.raises(HostUnavailable, match=r"192\.0\.2\.7.*nonsense"):
        access()


@pytest.mark.parametrize("address", ["*", "-oProxyCommand=x", "a b", "a\nb", "!x", ""])
def test_what_ssh_would_take_for_something_else_is_refused(access, tmp_path, address):
    with pytest.raises(InvalidValue, match="is not a valid address"):
        access(address=address)
    with pytest.raises(InvalidValue, match="would misread"):
        write_access(LEASE, KEYS, tmp_path / "my lease", address="192.0.2.7", user="ubuntu")


def with_keys(directory, keys):
    """A directory for `running_sshd` with the lease's keys in it."""
    directory.mkdir()
    for name, private, public in (
        ("host_key", keys.host_private, keys.host_public),
        ("user_key", keys.user_private, keys.user_public),
    ):
        (directory / name).write_text(private.get_secret_value())
        (directory / name).chmod(0o600)
        (directory / f"{name}.pub").write_text(public + "\n")
    return directory


@pytest.fixture
def machine(tmp_path):
    """A machine that was told the lease's keys."""
    with running_sshd(with_keys(tmp_path / "sshd", KEYS)) as server:
        yield server


def hello(written):
    return subprocess.run(
        ["ssh", "-F", written.config, LEASE, "echo hello"], capture_output=True, text=True
    )


LOCAL = {"address": "127.0.0.1", "user": getpass.getuser()}


def test_ssh_and_our_client_log_in_with_keys_and_configuration_alone(machine, access, monkeypatch):
    written = access(**LOCAL, port=machine.port)
    done = hello(written)
    assert (done.stdout, done.stderr) == ("hello\n", "")
    monkeypatch.setenv("DISKBENCH_SSH_CONFIG", written.config)
    host = SshHost("127.0.0.1")
    try:
        assert host.run("echo hello").text == "hello\n"
    finally:
        host.close()


def test_a_machine_with_another_host_key_is_not_trusted(access, tmp_path):
    other = lease_keys(SecretBytes(b"1" * 32), LEASE).model_copy(
        update={"user_private": KEYS.user_private, "user_public": KEYS.user_public}
    )
    with running_sshd(with_keys(tmp_path / "sshd", other)) as server:
        done = hello(access(**LOCAL, port=server.port))
    assert done.returncode == 255
    assert "Host key verification failed" in done.stderr


def test_a_bastion_of_the_users_is_passed_through(user_config, machine, access, tmp_path):
    with running_sshd(tmp_path / "bastion") as bastion:
        user_config.write_text(
            bastion.config_block("bastion")
            + f"Host 192.0.2.7\n  HostName 127.0.0.1\n  Port {machine.port}\n  ProxyJump bastion\n"
        )
        done = hello(access(user=LOCAL["user"]))
        assert (done.stdout, done.stderr) == ("hello\n", "")
