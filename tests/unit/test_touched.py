"""Which fast tests a change touches (tests/rigs/touched.py)."""

import pytest
from tests.rigs.touched import EVERYTHING, touched

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
def test_a_change_touches_its_folder_and_the_tests_that_import_it(changed, chosen):
    assert touched(changed, SOURCES) == chosen
