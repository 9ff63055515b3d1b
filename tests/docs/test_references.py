"""What messages tell to type a program takes; what pages and comments point to is there."""

import ast
import os
import re
import shlex
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest
from benchmarks import identify_lab, rates, scoreboard
from tests.docs.pages import ROOT
from tests.drills import book
from tests.rigs.advised import SOURCE
from tests.rigs.sshd import free_port

from diskbench.errors import HostUnavailable
from diskbench.extras import how_to_install, packages_of
from diskbench.hosts.ssh_config import ConnectLimits, parse_resolved
from diskbench.hosts.ssh_connect import open_transport, verify
from diskbench.yaml_lines import plain_yaml

PACKAGE = ROOT / "src/diskbench"
ENDINGS = {".py", ".md", ".toml", ".sh", ".yaml", ".j2", ".awk", ".ipynb", ""}
PLACES = ("src", "docs", "tests", "emulators", "benchmarks", "profiles", "notebooks", "script")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
REFERENCE = re.compile(r"docs/((?:[\w-]+/)*[\w-]+\.md)#([\w-]+)")
LINK = re.compile(r"\]\(((?:[\w./-]+\.md)?)#([\w-]+)\)")
REQUIREMENT = re.compile(r"\bMR-(\d+)\b")
ROOMS = re.compile(r"<!-- rooms -->\n(.*?)<!-- end -->", re.DOTALL)
NOT_A_ROOM = {"__pycache__"}
OWN_FILE = Path(__file__).resolve()


def texts():
    files = [file for place in PLACES for file in sorted((ROOT / place).rglob("*"))]
    for file in [*files, *sorted(ROOT.glob("*.md")), ROOT / "pyproject.toml"]:
        if "__pycache__" in file.parts or file == OWN_FILE:
            continue
        if file.is_file() and file.suffix in ENDINGS:
            yield file, file.read_text(encoding="utf-8", errors="replace")


def anchor(heading):
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def anchors(page):
    return {anchor(heading) for heading in HEADING.findall(page.read_text(encoding="utf-8"))}


def led_to():
    """Each file, and the page and heading that a reference or a link in it leads to."""
    for file, text in texts():
        for page, heading in REFERENCE.findall(text):
            yield file, ROOT / "docs" / page, heading
        for page, heading in LINK.findall(text) if file.suffix == ".md" else ():
            yield file, file.parent / page if page else file, heading


def test_references_and_links_to_headings_resolve():
    lost = [
        f"{file.relative_to(ROOT)}: {page}#{heading}"
        for file, page, heading in led_to()
        if not page.exists() or heading not in anchors(page)
    ]
    assert lost == []


def test_every_requirement_that_is_named_is_defined():
    method = (ROOT / "docs/METHOD.md").read_text(encoding="utf-8")
    defined = re.findall(r"^### MR-(\d+) \w", method, re.MULTILINE)
    assert defined == [str(number) for number in range(1, 16)]
    lost = [
        f"{file.relative_to(ROOT)}: MR-{number}"
        for file, text in texts()
        for number in REQUIREMENT.findall(text)
        if number not in defined
    ]
    assert lost == []


def test_the_design_names_every_room_and_only_rooms():
    found = ROOMS.search((ROOT / "docs/design.md").read_text(encoding="utf-8"))
    assert found
    named = {line.split()[0].removesuffix("/") for line in found[1].splitlines() if line.strip()}
    assert named == {file.name for file in PACKAGE.iterdir() if file.is_dir()} - NOT_A_ROOM


SCRIPTS = sorted(path for path in (ROOT / "script").iterdir() if os.access(path, os.X_OK))


@pytest.mark.parametrize("flag", ["--help", "-h"])
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_help_is_the_scripts_own_and_does_nothing(script, flag, tmp_path):
    # Without a PATH to speak of nothing can be installed, measured or made.
    done = subprocess.run(
        [script, flag], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert f"script/{script.name}" in done.stdout
    assert "set -euo" not in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_looks_like_an_option_is_refused(tmp_path):
    done = subprocess.run(
        [ROOT / "script/demo", "--size"], cwd=tmp_path, capture_output=True, text=True,
        timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "--help" in done.stderr


@pytest.mark.slow
@pytest.mark.thorough
def test_what_the_cloud_demonstration_names_works_after_it_ended(tmp_path):
    done = subprocess.run(
        [ROOT / "script/demo-cloud", "aws"], cwd=tmp_path, capture_output=True, text=True,
        timeout=1200, check=True,
    )  # fmt: skip
    page = re.search(r"^Open this page: +(\S+)$", done.stdout, re.MULTILINE)
    assert page
    assert Path(page[1]).stat().st_size > 10_000
    _, _, rest = done.stdout.partition("More to try:")
    commands = [line.strip() for line in rest.partition("The first line")[0].splitlines()]
    named = sorted(set(re.findall(r"diskbench report [0-9a-z]+", done.stdout + done.stderr)))
    script = "\n".join(("set -e", *commands, *named))
    clean = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    subprocess.run(["bash", "-c", script], cwd=tmp_path, env=clean, timeout=300, check=True)


QUICK = (
    ("splits", "100 runs, φ 0.44, sd 15 %"),
    ("refill", "`aws:gp2:20`"),
    ("tail", "0.5"),
    ("tail", "1"),
)
AGAIN = "run python -m benchmarks.rates --write and read what changed"


@pytest.mark.parametrize(("table", "name"), QUICK)
def test_a_line_of_the_rates_is_up_to_date(table, name):
    wanted = rates.line(rates.TABLES[table], name)
    assert wanted in rates.PAGE.read_text(encoding="utf-8").splitlines(), AGAIN


def test_every_line_of_the_rates_stands_on_the_page():
    written = rates.PAGE.read_text(encoding="utf-8")
    names = [name for table in rates.TABLES.values() for name in table.lines]
    assert [name for name in names if f"\n| {name} |" not in written] == [], AGAIN


@pytest.mark.thorough
def test_the_rates_are_up_to_date():
    assert rates.PAGE.read_text(encoding="utf-8") == rates.page(), AGAIN


@pytest.mark.parametrize("name", ["aws:gp2:123", "aws:sc1:2048", "azure:Premium_LRS:64"])
def test_a_line_of_identify_is_up_to_date(name):
    disk = next(one for one in identify_lab.DISKS if one.name == name)
    found = identify_lab.answer(disk, identify_lab.kept()[name])
    wanted = list(identify_lab.table([found]))[-1]
    assert wanted in identify_lab.PAGE.read_text(encoding="utf-8").splitlines()


@pytest.mark.thorough
def test_the_table_of_identify_is_up_to_date():
    written = identify_lab.PAGE.read_text(encoding="utf-8")
    assert written == identify_lab.page(), "run python -m benchmarks.identify_lab --write"


def test_the_scoreboard_is_up_to_date_and_has_no_absurd_verdict():
    found = scoreboard.rows()
    assert not [row.name for row in found if row.mark == "absurd"]
    wanted = scoreboard.page(found)
    written = scoreboard.PAGE.read_text(encoding="utf-8")
    assert written == wanted, "run python -m benchmarks.scoreboard --write and read what changed"


EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]


@cache
def message_texts():
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
        rules = plain_yaml(path.read_text()).items()
        told = ((rule, one) for rule, row in rules for one in row.values())
        where = path.relative_to(SOURCE)
        found += [(f"{where}:{rule}", re.sub(r"\{[^{}]*\}", "{}", one)) for rule, one in told]
    return found


def test_no_message_makes_an_ssh_command_of_an_address_by_itself():
    """An address has its port behind a colon; `ssh` takes it as -p (diskbench.ssh_command)."""
    made = re.compile(r"(?<![\w/-])(?<!diskbench )ssh (?:-\S+ (?:[\w=]+ )?)*(?:\{\}|\S*@)")
    assert [(where, text) for where, text in message_texts() if made.search(text)] == []
    told = ("ssh {}", "try: ssh -G {}", "ssh -o BatchMode=yes {} true", "ssh root@127.0.0.1:2")
    assert all(made.search(text) for text in told)


def test_no_message_and_no_page_names_a_package_of_ours_on_a_registry():
    of_ours = re.compile(r"pip install[^\n]*diskbench|diskbench(-fio)?\[")
    files = (ROOT / "README.md", *ROOT.glob("docs/**/*.md"))
    pages = [(str(one), one.read_text()) for one in files]
    found = [one for one in (*message_texts(), *pages) if of_ours.search(one[1])]
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


def ssh_takes(line):
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


def told_to_type(error):
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


@pytest.mark.slow
def test_no_two_drills_have_one_name():
    names = [one.name for one in book.drills()]
    assert sorted(names) == sorted(set(names))


@pytest.mark.slow
def test_the_page_of_drills_shows_the_book_as_it_is():
    wanted = book.page(list(book.drills()))
    assert book.PAGE.read_text() == wanted, "run python -m tests.drills.book"
