"""notebooks/ run from the first cell to the last, quickly, on what diskbench ships alone."""

import resource
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import nbformat
import pytest
from jupyter_core.utils import ensure_event_loop
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))
MOST_S = 240
"""A kernel that imports polars and altair for the first time, on a loaded machine."""
MOST_CPU_S = 60
"""What is quick: in seconds of computing, which others on the machine do not make more of."""


def by_name(path):
    return path.stem


@pytest.fixture
def home(tmp_path, cache_home, monkeypatch):
    """A user who has run nothing yet."""
    for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "IPYTHONDIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache_home))
    return tmp_path


def executed(path, directory):
    """The notebook with its outputs; raises CellExecutionError."""
    book = nbformat.read(path, as_version=4)
    client = NotebookClient(
        book,
        timeout=MOST_S,
        startup_timeout=MOST_S,
        kernel_name="python3",
        resources={"metadata": {"path": str(directory)}},
    )

    def execute():
        with closing(ensure_event_loop()):  # that of this thread
            client.execute()

    # In the main thread it would put a handler of SIGINT and SIGTERM there, and leave it.
    with ThreadPoolExecutor(1) as elsewhere:
        elsewhere.submit(execute).result()
    return book


def computed_s():
    """Seconds of computing by programs that this one started and that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def outputs(book):
    return [one for cell in book.cells if cell.cell_type == "code" for one in cell.outputs]


def test_there_are_six():
    assert [path.stem[:2] for path in NOTEBOOKS] == ["01", "02", "03", "04", "05", "06"]


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=by_name)
def test_it_runs_anywhere_without_complaint_and_draws(path, home):
    before = computed_s()
    book = executed(path, home)
    assert 0 < computed_s() - before < MOST_CPU_S
    shown = outputs(book)
    assert [one.text for one in shown if one.output_type == "stream"] == []
    pictures = [
        one.data["image/svg+xml"] for one in shown if "image/svg+xml" in one.get("data", {})
    ]
    assert len(pictures) >= 2
    assert all("aria-label" in picture for picture in pictures), "every chart has marks"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=by_name)
def test_it_is_kept_without_output_and_reads_by_the_public_api_alone(path):
    book = nbformat.read(path, as_version=4)
    nbformat.validate(book)
    assert outputs(book) == []
    code = "\n".join(cell.source for cell in book.cells if cell.cell_type == "code")
    assert all(cell.get("execution_count") is None for cell in book.cells)
    assert "import diskbench\n" in code
    assert "from diskbench" not in code
    assert "import diskbench." not in code


@pytest.mark.parametrize("path", NOTEBOOKS, ids=by_name)
def test_it_asks_a_question_first_and_says_at_last_what_you_can_conclude(path):
    prose = [c.source for c in nbformat.read(path, 4).cells if c.cell_type == "markdown"]
    assert prose[0].startswith("# ")
    assert "?*" in prose[0]
    assert "## What you can conclude" in prose[-1]
