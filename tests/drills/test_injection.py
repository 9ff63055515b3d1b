"""Text of hosts, files and persons that would act on a terminal, a spreadsheet or a page."""

import csv
import io
import json
import os
import pty
import subprocess
import sys
import xml.dom.minidom
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa
from tests.rigs.cli import Cli
from tests.rigs.measured import keep_finished
from tests.rigs.plans import make_plan, make_step, run_fio, save_plan

from diskbench.errors import InvalidValue
from diskbench.store.database import open_database
from diskbench.store.evidence import open_evidence
from diskbench.store.export import csv_text
from diskbench.visible import UNSEEN

FIO = Path(__file__).parents[1] / "cases" / "fio_output" / "v3.33-two-jobs.out"
TITLE, CLIPBOARD, LINK = "\x1b]0;pwned\x07", "\x1b]52;c;cHduZWQ=\x07", "\x1b]8;;http://evil\x1b\\"
BLINK, C1 = "\x1b[5;7;99m", "\x9b2J"
BIDI, ZERO_WIDTH = "\u202egnp.exe\u2066", "a\u200bb\u2060\ufeffc"
MARKUP = "[red]m[/red][link=http://evil]l[/link][/nothing]:warning:"
HTML = "<script>alert(1)</script><img src=x onerror=alert(1)>|`**b**[t](http://evil)"
HOSTILE = f"E{TITLE}{CLIPBOARD}{LINK}{BLINK}{C1}\x08\r\x7f{BIDI}{ZERO_WIDTH}\u2028{MARKUP}{HTML}Z"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory) -> Cli:
    """A user whose stores hold the text wherever a host may put text."""
    home = tmp_path_factory.mktemp("hostile")
    cli = Cli(home)
    data = home / "stores"
    data.mkdir()
    url, kept = f"sqlite:///{data}/rows.db", (data / "evidence").as_uri()
    cli.extra_env |= {"DISKBENCH_DATABASE_URL": url, "DISKBENCH_EVIDENCE_URL": kept, "COLUMNS": ""}
    plan = make_plan(("01kq8z6rj0aaaaaaaaaaaaaaa1",), labels=(("team", HOSTILE), ("sum", "=1+1")))
    cpu, disk = (
        one.model_copy(update={"model": HOSTILE}) for one in (plan.facts.cpu, plan.facts.disk)
    )
    told = {"hostname": HOSTILE, "kernel": HOSTILE, "cpu": cpu, "disk": disk}
    told |= {"cloud": plan.facts.cloud.model_copy(update={"instance_type": HOSTILE})}
    facts = plan.facts.model_copy(update=told)
    profile = plan.profile.model_copy(update={"title": HOSTILE, "question": HOSTILE})
    named = {"name": f"read{TITLE}{BIDI}"}
    steps = (make_step(0), make_step(1, "read", "randread").model_copy(update=named))
    plan = plan.model_copy(update={"facts": facts, "profile": profile, "steps": steps})
    database, evidence = open_database(url), open_evidence(kept)
    kinds = zip(steps, ("write", "randread"), strict=True)
    files = [run_fio(home / f"fio-{one.index}", make_step(one.index, rw=rw)) for one, rw in kinds]
    keep_finished(database, evidence, plan, list(zip(steps, files, strict=True)))
    database.dispose()
    return cli


def on_a_terminal(cli: Cli, *arguments: str) -> str:
    ours, theirs = pty.openpty()
    colours = {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
    cli = replace(cli, extra_env=cli.extra_env | colours)
    process = cli.start(*arguments, stdin=theirs, stdout=theirs, stderr=theirs, text=False)
    os.close(theirs)
    written = bytearray()
    try:
        while data := os.read(ours, 65536):
            written += data
    except OSError:  # how Linux says that nobody holds the other end any more
        pass
    finally:
        os.close(ours)
    process.wait(60)
    return written.decode(errors="replace")


def imported_name(folder: Path, name: str) -> Path:
    document = json.loads(FIO.read_text())
    document["jobs"][0]["jobname"] = name
    path = folder / "renamed.json"
    path.write_text(json.dumps(document))
    return path


@pytest.mark.parametrize(
    "command",
    ["results list", "results list --wide", "results show --plot", "results list --output csv",
     "results export", "results show --timing", "compare last last"],
)  # fmt: skip
def test_a_pipe_gets_no_control_character_of_a_host(hostile, command):
    """Every name that a host or a person gives contains ESC, OSC, bidi and markup."""
    done = hostile.call(*command.split())
    assert UNSEEN.findall(done.stdout) == []
    assert UNSEEN.findall(done.stderr) == []
    if command in ("results list --wide", "results show --plot"):
        assert "E␛]0;pwned␇" in done.stdout
        assert "[red]m[/red]" in done.stdout, "markup is text"


@pytest.mark.parametrize("command", ["results list", "results show --plot"])
def test_a_terminal_obeys_no_host(hostile, command):
    """The same names are shown on a terminal, where colours are on: only our own appear."""
    seen = on_a_terminal(hostile, *command.split())
    for theirs in (TITLE, CLIPBOARD, LINK, BLINK, "\x1b]", "\u202e", "\u200b", "\x07", "\x7f"):
        assert theirs not in seen
    if command == "results show --plot":
        assert "␛]0;pwned␇" in seen
        assert "\x1b[1m" in seen, "diskbench's own bold is left"


@pytest.mark.parametrize("kind", ["html", "md", "svg", "site"])
def test_a_written_page_holds_nothing_of_theirs_that_acts(hostile, tmp_path, kind):
    """The run is written as a page, Markdown, SVG and a site: no script, link or image acts."""
    out = tmp_path / f"report.{kind}"
    command = ("publish", str(out)) if kind == "site" else ("report", "last", "-o", str(out))
    hostile.called(*command)
    files = list(out.rglob("*.html")) if kind == "site" else [out]
    assert files
    for file in files:
        text = file.read_text()
        assert UNSEEN.findall(text.replace("\r", "")) == []
        text = "\n".join(line for line in text.splitlines() if not line.startswith("    "))
        assert "<script>alert" not in text
        assert "<img src=x" not in text.replace("\\<", "")
        if kind == "md":
            assert "](http" not in text.replace("\\]", "")
            assert "\\|" in text
        if kind == "svg":
            xml.dom.minidom.parseString(text)  # noqa: S318 - of our own making


@pytest.mark.parametrize("command", ["results show --output json", "results export --format json"])
def test_json_is_harmless_and_whole(hostile, command):
    """The run is printed and exported as JSON."""
    done = hostile.call(*command.split())
    assert UNSEEN.findall(done.stdout) == []
    (run,) = json.loads(done.stdout)["runs"]
    assert run["labels"]["team"] == HOSTILE


def test_csv_cells_are_never_formulas(user, tmp_path):
    """Labels and fields begin as formulas do, and are written as CSV; numbers stay numbers."""
    for text in ("=1+1", "+cmd", "-cmd", "@SUM(A1)", "\t=1", "\r=1", " =1", "＝1", "=HYPERLINK(1)"):
        (cell,) = list(csv.reader(io.StringIO(csv_text([{"a": text}], ["a"]))))[1]
        assert cell.startswith("'")
        assert UNSEEN.findall(cell) == []
    for value, shown in ((-5, "-5"), (-0.25, "-0.25"), ("-5", "-5"), ("+3.5e-2", "+3.5e-2")):
        (cell,) = list(csv.reader(io.StringIO(csv_text([{"a": value}], ["a"]))))[1]
        assert cell == shown
    user.called("results", "import", str(imported_name(tmp_path, "=cmd|' /C calc'!A0")))
    rows = list(csv.DictReader(io.StringIO(user.called("results", "export").stdout)))
    assert any(row["job"].startswith("'=cmd") for row in rows)
    assert not any(cell.startswith(("=", "@", "+")) for row in rows for cell in row.values())


@pytest.mark.parametrize("form", ["human", "json"])
@pytest.mark.parametrize(
    "arguments",
    [
        ("results", "show", f"x{TITLE}"),
        (f"--x{TITLE}\u202e",),
        ("run", "--provider", "ssh", "--host", f"h{TITLE}", "--path", "/x"),
        ("matrix", "plan", f"x{TITLE}"),
    ],
)
def test_a_refusal_shows_what_was_typed_without_obeying_it(user, form, arguments):
    """Hostile text is typed as an option, a file, a host, a filter, a label and a profile."""
    done = user.refused("--log-format", form, *arguments)
    assert UNSEEN.findall(done.stdout + done.stderr) == []


def test_a_log_line_cannot_be_forged(tmp_path):
    """A log message and its fields hold ESC sequences and a line that looks like another event."""
    code = (
        "import logging, sys\n"
        "from diskbench.cli.messages import set_up, emit_problem\n"
        "from diskbench.report.terminal.streams import guard_streams\n"
        "guard_streams(); set_up(sys.argv[1])\n"
        "bad = 'x\\x1b]0;pwned\\x07\\n12:00:00 error all is lost'\n"
        "logging.getLogger('diskbench.x').warning('seen %s', bad, extra={'host': bad})\n"
        "emit_problem('X', bad, bad, 1)\n"
    )
    for form in ("human", "json"):
        argv, env = [sys.executable, "-c", code, form], os.environ | {"HOME": str(tmp_path)}
        done = subprocess.run(argv, capture_output=True, text=True, check=True, env=env)
        assert UNSEEN.findall(done.stderr) == []
        assert not any(line.startswith("12:00:00") for line in done.stderr.splitlines())


def test_the_live_display_obeys_no_host(tmp_path):
    """Hosts with hostile names report progress on a terminal while others print and log."""
    code = (
        "import logging, sys\n"
        f"HOSTILE = {HOSTILE!a}\n"
        "from tests.rigs.plans import make_plan, make_step\n"
        "from diskbench.cli.messages import set_up\n"
        "from diskbench.model.result import Tick\n"
        "from diskbench.report.terminal.progress import open_progress\n"
        "from diskbench.report.terminal.streams import guard_streams\n"
        "guard_streams(); set_up('human')\n"
        "plans = [make_plan((f'01kq8z6rj0aaaaaaaaaaaaaaa{n}',)) for n in (1, 2)]\n"
        "plans = [p.model_copy(update={'address': HOSTILE}) for p in plans]\n"
        "shown = open_progress(plans, stream=sys.stderr)\n"
        "for p in plans:\n"
        "    shown.step_started(p.trial_id, 0, make_step(0, HOSTILE))\n"
        "    shown.tick(p.trial_id, Tick(elapsed_s=1.0))\n"
        "shown.note(plans[0].trial_id, HOSTILE)\n"
        "print(HOSTILE, file=sys.stderr)\n"
        "logging.getLogger('diskbench.x').warning(HOSTILE)\n"
        "shown.close()\n"
    )

    class Script(Cli):
        @property
        def command(self):
            return [sys.executable, "-c", code]

        @property
        def env(self):
            return super().env | {"PYTHONPATH": os.pathsep.join(sys.path)}

    seen = on_a_terminal(Script(tmp_path))
    assert "Traceback" not in seen
    for theirs in (TITLE, CLIPBOARD, LINK, BLINK, "\x1b]", "\u202e", "\u200b", "\x07"):
        assert theirs not in seen
    assert seen.count("␛]0;pwned␇") >= 3, "the note, what was printed and what was logged"


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
@pytest.mark.parametrize("bad", ["a\0b", "a\ud800b"])
def test_what_no_database_keeps_is_refused_with_words(user, tmp_path, request, kind, bad):
    """A job name, then a label, has a NUL or a lone surrogate: exit 2, and nothing is stored."""
    url = f"sqlite:///{tmp_path}/rows.db"
    if kind == "postgresql":
        url = request.getfixturevalue("postgres")
    user.extra_env["DISKBENCH_DATABASE_URL"] = url
    done = user.refused("results", "import", str(imported_name(tmp_path, bad)))
    assert "no database keeps" in " ".join(done.stderr.split())
    assert done.stdout == ""
    database = open_database(url)
    plan = make_plan(labels=(("team", bad),))
    try:
        with pytest.raises(InvalidValue, match="no database keeps"):
            save_plan(database, plan, "file:///e")
        with database.connect() as connection:
            assert connection.execute(sa.text("SELECT count(*) FROM diskbench_run")).scalar() == 0
    finally:
        database.dispose()


@pytest.mark.parametrize(
    ("arguments", "variable"),
    [
        ((b"results", b"import", b"x.json", b"--label", b"a=\xff"), None),
        ((b"run", b"--path", b"/tmp/\xff\xfe"), None),
        ((b"results", b"list"), b"sqlite:///\xff.db"),
    ],
)
def test_bytes_that_are_no_text_are_refused_with_words(user, arguments, variable):
    """A label, a path and a setting are given as bytes that are not UTF-8: exit 2."""
    env = os.environb | {key.encode(): value.encode() for key, value in user.env.items()}
    env |= {b"DISKBENCH_DATABASE_URL": variable} if variable else {}
    argv = [*map(os.fsencode, user.command), *arguments]
    done = subprocess.run(argv, env=env, cwd=user.home, capture_output=True, check=False)
    assert done.returncode == 2, done.stderr
    assert b"is not valid UTF-8" in done.stderr
    assert not list(user.home.rglob("*.db"))
