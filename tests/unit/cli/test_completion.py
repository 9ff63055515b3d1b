"""What the shell offers; and what the pages and the manual show is what the program does."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.rigs.plans import make_plan, save_plan
from typer._completion_classes import BashComplete
from typer.main import get_command

from diskbench.cli.lazy import COMMANDS
from diskbench.cli.main import app, main
from diskbench.cli.man_page import _as_it_is, man_page
from diskbench.cli.opened import closing_all
from diskbench.fio.profiles import shipped_names
from diskbench.model.doubts import DOUBTS
from diskbench.plugin import plugin_names


def offered(*words: str) -> list[str]:
    """The values for the last word, behind the others."""
    *before, incomplete = words
    asked = BashComplete(get_command(app), {}, "diskbench", "_DISKBENCH_COMPLETE")
    with closing_all():
        return [item.value for item in asked.get_completions(before, incomplete)]


@pytest.fixture
def stored(here, database):  # noqa: ARG001 - the settings lead to it
    save_plan(database, make_plan(), "file:///nowhere")
    return database


def test_profiles_matrices_and_job_files_of_the_directory_are_offered(here):
    (here / "mine.fio").write_text("[x]\n")
    assert offered("run", "--profile", "") == [*shipped_names(), "mine.fio"]
    assert offered("profiles", "show", "qu") == ["quick"]
    (here / "mine.yaml").write_text("name: mine\n")
    assert "mine.yaml" in offered("matrix", "run", "")
    assert offered("matrix", "run", "gp2") == ["gp2-burst"]
    assert offered("matrix", "status", "") == [], "none was begun"


def test_providers_are_offered_and_behind_one_its_own_disks_and_regions():
    for command in (["run"], ["plan"], ["gc"], ["doctor"]):
        assert offered(*command, "--provider", "") == list(plugin_names())
    own = offered("run", "--provider", "aws", "--disk", "")
    assert "gp2" in own
    assert "pd-ssd" not in own
    assert {"gp2", "pd-ssd"} <= set(offered("run", "--provider", "lab", "--disk", ""))
    assert "eu-central-1" in offered("run", "--provider", "aws", "--region", "eu-")
    assert "eu-central-1" not in offered("run", "--provider", "gcp", "--region", "eu")


def test_ids_columns_and_labels_are_those_of_the_database(stored):
    with stored.begin() as connection:
        run_id = connection.exec_driver_sql("SELECT max(run_id) FROM diskbench_run").scalar()
        connection.exec_driver_sql(
            "UPDATE diskbench_run SET labels = ?, disk_type = 'gp2'",
            (json.dumps({"team": "storage"}),),
        )
    assert {"last", "last~1", run_id[-8:], "disk=", "team="} <= set(offered("results", "show", ""))
    assert run_id in offered("results", "show", run_id[:10])
    assert offered("results", "list", "--filter", "disk=") == ["disk=gp2"]
    assert offered("results", "list", "--filter", "team=") == ["team=storage"]
    assert "kernel=" in offered("results", "list", "--filter", "ker")
    assert offered("run", "--label", "te") == ["team=storage"]


def test_without_a_database_nothing_fails(here):
    assert offered("results", "show", "")[:2] == ["last", "last~1"]
    assert offered("run", "--label", "") == []
    assert not (here / "rows.db").exists()


@pytest.mark.usefixtures("stored")
def test_a_key_that_could_not_be_a_column_reads_nothing():
    assert offered("results", "list", "--filter", 'x" FROM diskbench_run; --=') == []


@pytest.mark.parametrize(
    "group", ["matrix", "schedule", "profiles", "results", "catalog", "published"]
)
def test_a_group_without_a_command_lists_its_commands(group, capsys):
    assert main([group]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"Usage: diskbench {group} ")
    assert "Commands:" in said
    for words in COMMANDS:
        if words.startswith(f"{group} "):
            assert f"  {words.split()[-1]}" in said


ROOT = Path(__file__).parents[3]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("tests/**/*.md")])
HELP = re.compile(r"<!-- diskbench --help -->\n```text\n(.*?)```", re.DOTALL)


def test_the_page_of_commands_shows_the_help_as_it_is():
    """To bring it up to date: COLUMNS=80 diskbench --help, pasted between the fences."""
    found = HELP.search((ROOT / "docs/commands.md").read_text())
    assert found
    script = "import sys; from diskbench.cli.main import main; sys.exit(main())"
    shown = subprocess.run(
        [sys.executable, "-c", script, "--help"], env=os.environ | {"COLUMNS": "80"},
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert found.group(1).strip() == shown.strip()


def test_links_to_files_lead_somewhere():
    dead = [
        f"{path.relative_to(ROOT)}: {target}"
        for path in PAGES
        for target in re.findall(r"\]\(([^)#]+)", path.read_text())
        if "://" not in target and not (path.parent / target).exists()
    ]
    assert dead == []


def test_the_method_has_every_warning_and_the_index_every_page_but_evidence():
    given = {one.code for one in DOUBTS.values() if one.shown == "warnings"}
    table = (ROOT / "docs/METHOD.md").read_text().split("## Reasons to doubt")[1].split("\n## ")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    assert {code for row in rows for code in re.findall(r"`([a-z-]+)`", row)} == given
    listed = (ROOT / "docs/index.md").read_text()
    pages = [path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md")]
    read = [str(page) for page in pages if page.parts[0] != "evidence"]
    assert [name for name in read if f"({name})" not in listed] == ["index.md"]


def test_every_command_is_a_section_of_the_manual_which_is_rendered_without_a_warning():
    sections = re.findall(r"^\.SS (.+)$", man_page(), re.MULTILINE)
    assert sections == [f"diskbench {words}" for words in COMMANDS]
    assert _as_it_is(".gitignore\na\\b --c") == [".nf", "\\&.gitignore", "a\\(rsb \\-\\-c", ".fi"]
    requests = {line.split()[0] for line in man_page().splitlines() if line.startswith((".", "'"))}
    assert requests <= {".TH", ".SH", ".SS", ".PP", ".TP", ".B", ".BR", ".nf", ".fi"}
    groff = ["groff", "-man", "-Tutf8", "-k", "-ww", "-P", "-cbou"]
    done = subprocess.run(groff, input=man_page(), capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert "diskbench matrix run" in done.stdout
    assert "--fail-if" in done.stdout
