"""Which fast tests a change touches (tests/rigs/touched.py)."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.rigs.touched import EVERYTHING, changed_files, touched

SOURCES = {
    "tests/rigs/cli.py": "from diskbench.cli import main\n",
    "tests/rigs/runs.py": "from tests.rigs.cli import Cli\n",
    "tests/unit/test_top.py": "from diskbench.store.rows import rows\n",
    "tests/unit/cli/test_list.py": "from tests.rigs.runs import a_run\n",
    "tests/unit/cli/test_words.py": "def test_a(golden): ...\n",
    "tests/unit/providers/aws/test_tags.py": "from diskbench.providers.aws import (\n  tags,\n)\n",
    "tests/unit/providers/test_all.py": "import diskbench\n",
    "tests/unit/store/test_rows.py": "    from diskbench.store.rows import rows\n",
    "tests/unit/report/test_page.py": "import diskbench.store.rows as kept\n",
}


@pytest.mark.parametrize(
    ("changed", "chosen"),
    [
        ([], []),
        (["README.md", "docs/runs.md", "pyproject.toml"], []),
        (["src/diskbench/store/rows.py"], ["tests/unit/store", "tests/unit/report/test_page.py"]),
        (["src/diskbench/store/sql.txt"], ["tests/unit/store"]),
        (["src/diskbench/providers/aws/tags.py"], ["tests/unit/providers/aws"]),
        (["src/diskbench/providers/gcp/tags.py"], ["tests/unit/providers"]),
        (
            ["src/diskbench/providers/ports.py", "src/diskbench/providers/aws/tags.py"],
            ["tests/unit/providers"],
        ),
        (["src/diskbench/units.py"], []),
        (["tests/unit/cli/test_list.py"], ["tests/unit/cli/test_list.py"]),
        (["tests/unit/cli/conftest.py"], ["tests/unit/cli"]),
        (["tests/unit/test_top.py"], []),
        (["tests/rigs/cli.py"], ["tests/unit/cli/test_list.py"]),
        (["tests/golden/help/run.txt"], ["tests/unit/cli/test_words.py"]),
        (["tests/conftest.py"], list(EVERYTHING)),
    ],
)
def test_a_change_touches_its_folder_and_the_tests_that_import_it(
    changed: list[str], chosen: list[str]
) -> None:
    assert touched(changed, SOURCES) == chosen


def test_what_changed_is_what_differs_from_main_or_on_main_from_the_commit_before(
    tmp_path: Path,
) -> None:
    assert changed_files(tmp_path) is None, "no checkout"

    def git(*words: str) -> None:
        user = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgSign=false")
        subprocess.run(["git", *user, *words], cwd=tmp_path, check=True, capture_output=True)

    def commit(name: str) -> None:
        (tmp_path / name).write_text(name)
        git("add", name)
        git("commit", "-m", name)

    git("init", "--initial-branch=main")
    commit("a")
    assert changed_files(tmp_path) is None, "there is no commit before"
    commit("b")
    (tmp_path / "new").write_text("new")
    assert changed_files(tmp_path) == ["b", "new"]
    git("checkout", "-b", "mine")
    commit("c")
    commit("d")
    (tmp_path / "a").write_text("changed")
    assert changed_files(tmp_path) == ["a", "c", "d", "new"]
