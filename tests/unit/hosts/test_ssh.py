"""Whom diskbench talks to and whom it trusts, against a real sshd."""

import os
import re
import subprocess
import threading
from pathlib import Path

import paramiko
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rigs.ssh_fixtures import QUICK
from tests.rigs.sshd import keygen, running_sshd

from diskbench.errors import HostUnavailable, InvalidValue
from diskbench.hosts import ssh_connect
from diskbench.hosts.ssh import SshHost
from diskbench.hosts.ssh_config import (
    TypedHost,
    expand_proxy,
    parse_address,
    parse_resolved,
    resolve,
)  # fmt: skip
from diskbench.hosts.ssh_connect import fingerprint_of, known_keys, parse_found

pytestmark = pytest.mark.slow


@pytest.fixture
def configure(sshd, tmp_path, monkeypatch):
    """Write an OpenSSH configuration for `Host box`; keyword arguments replace or drop lines."""

    def write(extra="", before="", **lines):
        given = {
            "HostName": "127.0.0.1", "Port": sshd.port, "User": sshd.user,
            "IdentityFile": sshd.identity, "IdentitiesOnly": "yes", "IdentityAgent": "none",
            "UserKnownHostsFile": sshd.known_hosts, "GlobalKnownHostsFile": "/dev/null",
        } | lines  # fmt: skip
        block = "".join(f"  {k} {v}\n" for k, v in given.items() if v is not None)
        path = tmp_path / "ssh_config"
        path.write_text(f"{before}\nHost box\n{block}{extra}\n")
        monkeypatch.setenv("DISKBENCH_SSH_CONFIG", str(path))
        return path

    return write


def hello(address="box", limits=None):
    host = SshHost(address, limits=limits)
    try:
        return host.run("echo hello").text.strip()
    finally:
        host.close()


def refused(address="box", limits=None):
    with pytest.raises(HostUnavailable) as caught:
        hello(address, limits)
    return str(caught.value)


def test_a_closed_connection_ends_at_once_however_rarely_its_thread_looks(configure, monkeypatch):
    configure()
    monkeypatch.setattr(ssh_connect, "LOOKS_EVERY_S", 3600.0)
    host = SshHost("box")
    assert host.run("echo hello").text.strip() == "hello"
    (thread,) = [one for one in threading.enumerate() if isinstance(one, paramiko.Transport)]
    host.close()
    thread.join(240)
    assert not thread.is_alive()


def test_an_unknown_host_and_a_changed_key_are_refused_loudly(configure, sshd, tmp_path):
    configure(UserKnownHostsFile=tmp_path / "empty", StrictHostKeyChecking="no")
    words = refused()
    key = __import__("base64").b64decode(sshd.host_public.split()[1])
    assert f"is unknown: ssh-ed25519 {fingerprint_of(key)}" in words
    assert f"ssh-keyscan -p {sshd.port} 127.0.0.1" in words
    assert re.search(r"`ssh -F \S+ box`", words)
    assert not (tmp_path / "empty").exists()
    keygen(tmp_path / "other")
    other = (tmp_path / "other.pub").read_text().split()
    known = tmp_path / "known"
    known.write_text(f"# a comment\n\n[127.0.0.1]:{sshd.port} {other[0]} {other[1]}\n")
    configure(UserKnownHostsFile=known)
    words = refused()
    assert "THE HOST KEY OF box HAS CHANGED" in words
    assert f"{known} line 3" in words
    assert f"ssh-keygen -R '[127.0.0.1]:{sshd.port}' -f {known}" in words


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("[127.0.0.1]:{port} {key}\n@revoked * {key}\n", "REVOKED in {known} line 2"),
        ("@cert-authority * {key}\n", "certificate authority only"),
        ("my-alias {key}\n", ""),
    ],
    ids=["a revoked key", "an authority alone", "HostKeyAlias"],
)
def test_known_hosts_has_the_last_word(configure, sshd, tmp_path, lines, words):
    known, key = tmp_path / "known", " ".join(sshd.host_public.split()[:2])
    known.write_text(lines.format(port=sshd.port, key=key))
    configure(UserKnownHostsFile=known, HostKeyAlias=None if words else "my-alias")
    if words:
        assert words.format(known=known) in refused()
    else:
        assert hello() == "hello"


def test_a_host_with_several_keys_is_asked_for_the_one_we_know(tmp_path, monkeypatch):
    rsa = tmp_path / "rsa_key"
    subprocess.run(["ssh-keygen", "-q", "-t", "rsa", "-b", "2048", "-N", "", "-f", rsa], check=True)
    with running_sshd(tmp_path / "sshd", extra=f"HostKey {rsa}") as server:
        public = " ".join(rsa.with_suffix(".pub").read_text().split()[:2])
        server.known_hosts.write_text(f"[127.0.0.1]:{server.port} {public}\n")
        config = tmp_path / "config"
        block = server.config_block("box")
        config.write_text("\n".join(x for x in block.splitlines() if "HostKeyAlias" not in x))
        monkeypatch.setenv("DISKBENCH_SSH_CONFIG", str(config))
        assert hello() == "hello"


def test_a_refused_key_is_told_with_what_was_tried_and_the_agent_if_it_helps(configure, tmp_path):
    keygen(tmp_path / "stranger")
    configure(IdentityFile=tmp_path / "stranger")
    words = refused()
    assert "refuses the login" in words
    assert f"{tmp_path}/stranger: refused" in words
    locked = tmp_path / "locked"
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "secret", "-f", str(locked)], check=True
    )
    configure(IdentityFile=locked)
    words = refused()
    assert f"{locked}: has a passphrase" in words
    assert "ssh-add" in words


@pytest.fixture
def agent(sshd, tmp_path, monkeypatch):
    """An ssh-agent that holds the user's key."""
    path = tmp_path / "agent.sock"
    command = ["ssh-agent", "-D", "-a", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        try:
            assert running.stdout.readline()  # it says where it listens once it does
            env = os.environ | {"SSH_AUTH_SOCK": str(path)}
            subprocess.run(["ssh-add", "-q", str(sshd.identity)], env=env, check=True)
            monkeypatch.setenv("SSH_AUTH_SOCK", str(path))
            yield
        finally:
            running.terminate()


@pytest.mark.usefixtures("agent")
def test_the_agents_keys_are_used_but_where_identities_only_keeps_them_out(configure, tmp_path):
    configure(IdentityFile="/nowhere", IdentityAgent=None, IdentitiesOnly="no")
    assert hello() == "hello"
    keygen(tmp_path / "stranger")
    configure(IdentityFile=tmp_path / "stranger", IdentityAgent=None)
    assert "refuses the login" in refused()


def test_proxy_command_and_jump_are_followed_and_a_bastion_without_answer_is_told(configure, sshd):
    configure(
        HostName="198.51.100.1",  # a test net: nothing is there but through the command
        HostKeyAlias=f"x-key-{sshd.port}",
        ProxyCommand=f"ssh -F {sshd.directory}/ssh_config -W 127.0.0.1:%p direct",
    )
    assert hello() == "hello"
    configure(before=sshd.config_block("bastion"), ProxyJump="bastion")
    assert hello() == "hello"
    configure(before=sshd.config_block("bastion", port=1), ProxyJump="bastion")
    assert "through its proxy" in refused()


def test_user_host_and_port_may_be_typed_and_where_nobody_is_found_is_told(configure, sshd):
    configure(User="nobody", Port=1)
    assert hello(f"{sshd.user}@box:{sshd.port}") == "hello"
    assert "cannot connect to 127.0.0.1 port 1: Connection refused" in refused()
    configure(HostName="nothing.invalid")
    assert "cannot be resolved" in refused()


@pytest.mark.slow
def test_a_server_that_says_nothing_is_given_up(configure, proxy):
    proxy.hang()
    configure(Port=proxy.port)
    assert "no SSH connection" in refused(limits=QUICK)


def test_a_broken_configuration_is_told_in_openssh_words_and_no_file_has_no_keys(
    configure, tmp_path
):
    configure(extra="  NoSuchOption yes\n")
    assert "nosuchoption" in refused().lower()
    configure(UserKnownHostsFile=tmp_path / "none")
    assert known_keys(resolve("box")) == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("box", TypedHost("box")),
        ("me@box", TypedHost("box", "me")),
        ("me@box:2222", TypedHost("box", "me", 2222)),
        ("box:22", TypedHost("box", None, 22)),
        ("[2001:db8::1]:2222", TypedHost("2001:db8::1", None, 2222)),
        ("me@[::1]", TypedHost("::1", "me")),
        ("2001:db8::1", TypedHost("2001:db8::1")),
        ("me@fe80::1%eth0", TypedHost("fe80::1%eth0", "me")),
        ("a@b@box", TypedHost("box", "a@b")),
    ],
)
def test_addresses(text, expected):
    assert parse_address(text) == expected


@pytest.mark.parametrize(
    "text",
    ["", " ", "me@", "box:", "box:x", "box:0", "box:65536", "-oProxyCommand=x", "me@-x", "a b"],
)
def test_what_is_no_address(text):
    with pytest.raises(InvalidValue):
        parse_address(text)


@given(st.text(max_size=40))
def test_any_text_is_an_address_or_an_invalid_value(text):
    try:
        found = parse_address(text)
    except InvalidValue:
        return
    assert found.host
    assert not found.host.startswith("-")


@given(st.text(max_size=300))
def test_no_output_of_openssh_makes_a_parser_fail(text):
    parse_resolved("box", "".join(f"x-{line}\n" for line in text.splitlines()))
    parse_found(Path("x"), text)


def test_a_default_port_is_no_part_of_a_known_host_and_tokens_of_a_proxy_command_are_filled_in():
    assert parse_resolved("x", "hostname Box.Example\nport 22\n").key_name == "box.example"
    assert parse_resolved("x", "hostname box\nport 2200\n").key_name == "[box]:2200"
    route = parse_resolved(
        "me@box", "hostname h\nport 9\nuser me\nproxycommand nc %h %p %r %n 100%%\n"
    )
    assert expand_proxy(route) == "nc h 9 me box 100%"


HOSTILE = [
    "x$(touch SPOILED)", "x`touch SPOILED`", "x;touch${IFS}SPOILED", "x|touch${IFS}SPOILED",
    "x&touch${IFS}SPOILED", "x>SPOILED", "x\ny", "x'y", 'x"y', "x\\y", "{x,y}", "-oProxyCommand=x",
    "[::1;touch${IFS}SPOILED]", "::1;touch${IFS}SPOILED", "[-x]",
]  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_that_says_something_to_a_shell_reaches_none(configure, tmp_path, monkeypatch, name):
    configure(before='Match exec "true %n"\nHost *\n  ProxyCommand true %h %p %r %n')
    monkeypatch.chdir(tmp_path)
    is_user_too = "[" not in name and "\\" not in name  # DOMAIN\\me is a user's name
    for address in (name, f"me@{name}", *([f"{name}@box"] if is_user_too else [])):
        with pytest.raises(InvalidValue, match="is not an address"):
            hello(address)
    assert not (tmp_path / "SPOILED").exists()


@pytest.mark.parametrize(
    "lines", ["hostname h$(id)\nuser me", "hostname h\nuser me;id", "hostname h\nuser $(id)"]
)
def test_a_configured_name_that_says_something_to_a_shell_does_not_either(lines):
    route = parse_resolved("box", f"{lines}\nport 9\nproxycommand nc %h %p %r\n")
    with pytest.raises(InvalidValue, match="OpenSSH refuses the"):
        expand_proxy(route)


@pytest.mark.parametrize("user", ["DOMAIN\\\\me", "me@example.org", "first.last+x", "me-too"])
def test_names_that_openssh_takes_are_taken(user):
    assert parse_address(f"{user}@box").user == user
