"""Files that a browser or a web server would run, in the evidence of a run that is published."""

import re
from pathlib import Path

import pytest
from tests.rigs.measured import recorded
from tests.rigs.plans import RUN_IDS, make_plan, make_step, run_fio

from diskbench.store.database import open_database
from diskbench.store.evidence import open_evidence
from diskbench.store.finish import finish_run

RUNS = b"<?php system($_GET['c']); ?><html><script>document.title='owned'</script></html>"
HOSTILE = (
    "index.html", "INDEX.HTM", "pwn.svg", "sw.js", "shell.php", "shell.PhP5", "_headers",
    "_redirects", ".htaccess", "web.config", "feed.xml", "page.xhtml", "run.wasm", "x.shtml",
    "fio.json.html", "a.txt.svg", "x.php.json", "x.mjs", "x.cgi", "x.jsp", "style.css", "x.pdf",
    "CNAME", "robots.txt", "x.php.b_bw.1.log", "x.html_bw.1.log", "fio.JSON", "stderr.txt.php",
)  # fmt: skip
SAFE = re.compile(r"evidence/[a-z0-9]+/([A-Za-z0-9_-]+/)*[A-Za-z0-9_-]+\.(json|txt)(\.zst)?")
POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy" content="default-src \'none\';')


@pytest.fixture
def cli(user, tmp_path):
    url, kept = f"sqlite:///{user.home}/rows.db", (user.home / "kept").as_uri()
    engine, evidence = open_database(url), open_evidence(kept)
    step = make_step(0, name="x.php")
    plan = make_plan(RUN_IDS[:1], steps=(step,))
    files = run_fio(tmp_path / "fio", step) | dict.fromkeys(HOSTILE, RUNS)
    recorded(engine, evidence, plan, [(step, files)])
    finish_run(engine, evidence, plan, 0, "done", None)
    engine.dispose()
    user.extra_env |= {"DISKBENCH_DATABASE_URL": url, "DISKBENCH_EVIDENCE_URL": kept}
    return user


def published(cli):
    cli.called("publish", "site", "--with-evidence")
    site = cli.home / "site"
    files = [path for path in (site / "evidence").rglob("*") if not path.is_dir()]
    assert not [path for path in files if path.is_symlink()]
    return sorted(str(path.relative_to(site)) for path in files)


def test_what_a_host_leaves_is_not_run_by_a_reader(cli):
    """28 files that browsers or servers run or obey are in a step's folder: the site has none."""
    names = published(cli)
    assert [name for name in names if not SAFE.fullmatch(name)] == []
    last = {Path(name).name for name in names}
    assert {"manifest.json", "plan.json", "step.json", "fio.json.zst"} <= last
    assert not [name for name in last if name.startswith(("index", "pwn", "sw", "shell", "CNAME"))]
    assert not [name for name in last if name.startswith("robots")]


def test_what_was_put_beside_the_evidence_is_not_published(cli):
    """Files and links put beside those of a run, and a recorded file that was changed."""
    before = published(cli)
    (run,) = (cli.home / "kept/runs").iterdir()
    (step,) = (run / "steps").iterdir()
    secret = cli.home / "secret"
    secret.write_text("hush")
    for folder in (run, step):
        (folder / "index.html").write_bytes(RUNS)
        (folder / "notes.txt").symlink_to(secret)
    stderr = next(step.glob("stderr.txt*"))
    stderr.unlink()
    stderr.symlink_to(secret)
    (cli.home / "site").rename(cli.home / "old")
    after = published(cli)
    assert set(before) - set(after) == {name for name in before if "/stderr" in name}
    assert set(after) <= set(before)


NAMES = ["x.svg", "x.php.json", "index.html", "a\tb.json", ".htaccess.json", "ü<script>.json"]


@pytest.mark.parametrize("name", [*NAMES, "-.json"])
def test_an_imported_file_is_published_as_text(user, name):
    """A file is imported whose name has the endings of a page, control characters, or both."""
    case = Path(__file__).parents[1] / "cases/imported/gobonniego-1.0.9.json"
    (user.home / name).write_bytes(case.read_bytes())
    user.called("results", "import", f"./{name}")
    names = published(user)
    assert any("/imported/" in one for one in names), names
    assert [one for one in names if not SAFE.fullmatch(one)] == []


def test_every_page_has_a_policy(cli):
    """Every page of a site and a report forbids all scripts but its own and all requests."""
    published(cli)
    cli.called("report", "last", "-o", "page.html")
    pages = [*(cli.home / "site").rglob("*.html"), cli.home / "page.html"]
    assert len(pages) > 3
    assert [str(page) for page in pages if not POLICY.search(page.read_text())] == []
