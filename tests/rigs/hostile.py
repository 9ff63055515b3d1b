"""Text as an enemy would write it, and stores that hold it wherever a host may put text."""

import os
import pty
from dataclasses import dataclass, replace
from pathlib import Path

from tests.rigs.cli import Cli
from tests.rigs.measured import keep_finished
from tests.rigs.plans import make_plan, make_step, run_fio

from diskbench.store.database import open_database
from diskbench.store.evidence import open_evidence
from diskbench.visible import UNSEEN

TITLE, CLIPBOARD, LINK = "\x1b]0;pwned\x07", "\x1b]52;c;cHduZWQ=\x07", "\x1b]8;;http://evil\x1b\\"
BLINK, C1 = "\x1b[5;7;99m", "\x9b2J"
BIDI, ZERO_WIDTH = "\u202egnp.exe\u2066", "a\u200bb\u2060\ufeffc"
MARKUP = "[red]m[/red][link=http://evil]l[/link][/nothing]:warning:"
HTML = "<script>alert(1)</script><img src=x onerror=alert(1)>|`**b**[t](http://evil)"
HOSTILE = f"E{TITLE}{CLIPBOARD}{LINK}{BLINK}{C1}\x08\r\x7f{BIDI}{ZERO_WIDTH}\u2028{MARKUP}{HTML}Z"


@dataclass(frozen=True)
class Stores:
    """A user whose stores hold the text, and the run that it is in."""

    cli: Cli
    run_id: str


def hostile_stores(home: Path) -> Stores:
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
    return Stores(cli, plan.run_ids[0])


def unseen(text: str) -> list[str]:
    """The characters of a text that act on a terminal, or are not seen on it."""
    return UNSEEN.findall(text)


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
