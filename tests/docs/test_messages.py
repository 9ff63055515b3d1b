"""What messages tell to type is a command that its program takes."""

import ast
import re
import shlex
import subprocess
import sys
import tomllib
from functools import cache

import pytest
import yaml
from tests.docs.pages import ROOT
from tests.rigs.advised import SOURCE
from tests.rigs.sshd import free_port

from diskbench.errors import HostUnavailable
from diskbench.extras import how_to_install, packages_of
from diskbench.hosts.ssh_config import ConnectLimits, parse_resolved
from diskbench.hosts.ssh_connect import open_transport, verify

EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]


@cache
def texts() -> list[tuple[str, str]]:
    """Every string but docstrings, `{}` for a value, of modules that may name a command."""
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        source = path.read_text()
        if not re.search(r"\bssh\b|pip install|diskbench\[", source):
            continue
        tree = ast.parse(source)
        docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if id(node) in docs:
                continue
            text = ""
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                text = node.value
            elif isinstance(node, ast.JoinedStr):
                parts = [getattr(one, "value", "") for one in node.values]
                text = "".join(one if isinstance(one, str) else "{}" for one in parts)
            found.append((f"{path.relative_to(SOURCE)}:{getattr(node, 'lineno', 0)}", text))
    for path in sorted(SOURCE.rglob("refusals.yaml")):
        rules = yaml.safe_load(path.read_text()).items()
        told = ((rule, one) for rule, row in rules for one in row.values())
        where = path.relative_to(SOURCE)
        found += [(f"{where}:{rule}", re.sub(r"\{[^{}]*\}", "{}", one)) for rule, one in told]
    return found


def test_no_message_makes_an_ssh_command_of_an_address_by_itself():
    """An address has its port behind a colon; `ssh` takes it as -p (diskbench.ssh_command)."""
    made = re.compile(r"(?<![\w/-])(?<!diskbench )ssh (?:-\S+ (?:[\w=]+ )?)*(?:\{\}|\S*@)")
    assert [(where, text) for where, text in texts() if made.search(text)] == []
    told = ("ssh {}", "try: ssh -G {}", "ssh -o BatchMode=yes {} true", "ssh root@127.0.0.1:2")
    assert all(made.search(text) for text in told)


def test_no_message_and_no_page_names_a_package_of_ours_on_a_registry():
    of_ours = re.compile(r"pip install[^\n]*diskbench|diskbench(-fio)?\[")
    files = (ROOT / "README.md", *ROOT.glob("docs/**/*.md"))
    pages = [(str(one), one.read_text()) for one in files]
    found = [one for one in (*texts(), *pages) if of_ours.search(one[1])]
    assert [where for where, _ in found if not where.startswith("extras.py")] == []


@pytest.mark.parametrize("extra", sorted(set(EXTRAS) - {"all"}))
def test_what_is_missing_is_installed_by_the_names_of_its_packages(extra):
    """They are what pyproject.toml wants, and locked in requirements/all.txt."""
    assert sorted(packages_of(extra)) == sorted(EXTRAS[extra])
    assert sys.executable in how_to_install(extra).split()
    assert "diskbench" not in how_to_install(extra).replace(sys.executable, "")
    if extra not in {"notebooks", "testing"}:  # which the program itself never asks for
        locked = (ROOT / "requirements/all.txt").read_text()
        for one in EXTRAS[extra]:
            package = re.split(r"[><=\[]", one)[0]
            assert f"\n{package}==" in f"\n{locked}", one


def ssh_takes(line: str) -> dict[str, str]:
    """What OpenSSH understands of an `ssh` command: option → value of `ssh -G`."""
    program, *words = shlex.split(line)
    assert program == "ssh"
    done = subprocess.run(
        ["ssh", "-F", "none", "-G", *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return dict(one.partition(" ")[::2] for one in done.stdout.splitlines())


ADDRESSES = [
    ("db1", None, "db1", "22"),
    ("admin@db1", "admin", "db1", "22"),
    ("root@127.0.0.1:2299", "root", "127.0.0.1", "2299"),
    ("[2001:db8::1]:2222", None, "2001:db8::1", "2222"),
    ("admin@2001:db8::1", "admin", "2001:db8::1", "22"),
]


@pytest.mark.parametrize(("typed", "user", "host", "port"), ADDRESSES)
def test_the_command_by_hand_reaches_what_was_typed(typed, user, host, port, monkeypatch):
    monkeypatch.delenv("DISKBENCH_SSH_CONFIG", raising=False)
    route = parse_resolved(typed, f"hostname {host}\nport {port}\n")
    for line in (route.by_hand(), route.by_hand("true", options=("-o", "BatchMode=yes"))):
        taken = ssh_takes(line)
        assert (taken["hostname"], taken["port"]) == (host, port)
        assert user in {None, taken["user"]}


def told_to_type(error: HostUnavailable) -> list[str]:
    """The ssh commands in an advice: in quotes, or to its end."""
    return re.findall(r"(?:`|: |^)(ssh [^`]+)", error.advice)


def test_a_host_that_does_not_answer_is_tried_by_hand_at_its_port(monkeypatch):
    monkeypatch.delenv("DISKBENCH_SSH_CONFIG", raising=False)
    unused_port = free_port()
    with pytest.raises(HostUnavailable) as refused:
        open_transport(f"root@127.0.0.1:{unused_port}", ConnectLimits())
    (line,) = told_to_type(refused.value)
    assert ssh_takes(line)["port"] == str(unused_port)


def test_a_host_key_that_is_not_known_is_added_by_commands_that_work(tmp_path, monkeypatch):
    monkeypatch.delenv("DISKBENCH_SSH_CONFIG", raising=False)
    file = tmp_path / "known hosts"
    resolved = f'hostname 127.0.0.1\nport 2299\nuserknownhostsfile "{file}"\n'
    route = parse_resolved("root@127.0.0.1:2299", resolved)
    with pytest.raises(HostUnavailable) as refused:
        verify(route, (), "ssh-ed25519", b"key")
    (line,) = told_to_type(refused.value)
    assert ssh_takes(line)["port"] == "2299"
    assert f"ssh-keyscan -p 2299 127.0.0.1 >> '{file}'" in refused.value.advice


def test_an_own_configuration_is_in_the_command(monkeypatch, tmp_path):
    monkeypatch.setenv("DISKBENCH_SSH_CONFIG", f"{tmp_path}/of mine")
    route = parse_resolved("db1", "hostname 10.0.0.1\nport 22\n")
    assert route.by_hand() == f"ssh -F '{tmp_path}/of mine' db1"
