"""One language says which runs a command is about: the same keys, help, docs and errors."""

from pathlib import Path
from shutil import copy
from typing import get_args

import pytest
from tests.rigs.replicates import measured

from diskbench.cli.selecting import print_id
from diskbench.model.run import KEYS
from diskbench.results.exported_rows import ExportFormat
from diskbench.store.database import open_database

ON_RUNS = (
    ("results", "list"), ("results", "show"), ("results", "export"),
    ("results", "prune", "--keep", "0s", "--yes"),
    ("results", "delete", "--keep-evidence", "--yes"), ("report", "-q", "-o", "x.html"),
    ("compare", "disk=gp2", "disk=gp3"), ("regressions",), ("publish", "site"),
)  # fmt: skip
SELECTION = ("-f", "region=eu-central-1", "--since", "2026-01-01", "--until", "2099-01-01")
DOCS = Path(__file__).parents[3] / "docs" / "compare.md"


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """A database with two trials on gp2 and one on gp3."""
    place = tmp_path_factory.mktemp("three") / "rows.db"
    database = open_database(f"sqlite:///{place}")
    measured(database, [3000.0, 3010.0], disk="gp2", labels=(("team", "storage"),))
    measured(database, [9000.0], disk="gp3", campaign=1)
    database.dispose()
    return place


@pytest.fixture
def call(call, here, rows, monkeypatch):
    """Run a command line on the trials; returns exit code, stdout, stderr."""
    monkeypatch.setenv("COLUMNS", "80")
    copy(rows, here)
    return call


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ("results", "list", "-f", "region=eu-central-1"), ("results", "show", "disk=gp2"),
        ("results", "show", "size>=20"), ("results", "export", "disk=gp2"),
        ("results", "export", "-f", "instance=m7i.large"), ("report", "disk=gp2", "-o", "x.html"),
        ("report", "last", "-f", "region=eu-central-1", "-o", "x.html"),
        ("compare", "disk=gp2", "disk=gp3"), ("compare", "team=storage", "disk=gp3"),
        ("compare", "--published", "--include-emulated", "disk=gp2"),
        ("regressions", "-f", "region=eu-central-1"), ("publish", "site", "-f", "disk=gp2"),
        ("results", "delete", "-f", "disk=gp2", "--keep-evidence", "--yes"),
        *((*command, *SELECTION) for command in ON_RUNS),
    ],
)  # fmt: skip
def test_every_command_takes_what_was_bought(call, arguments):
    call.done(*arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        ("results", "list", "-f", "dsik=gp2"), ("results", "show", "dsik=gp2"),
        ("results", "export", "dsik=gp2"),
        ("results", "prune", "-f", "dsik=gp2", "--keep", "0s", "--yes"),
        ("results", "delete", "-f", "dsik=gp2", "--yes"), ("report", "dsik=gp2"),
        ("compare", "dsik=gp2", "disk=gp3"), ("compare", "--published", "dsik=gp2"),
        ("regressions", "-f", "dsik=gp2"), ("publish", "site", "-f", "dsik=gp2"),
        ("publish", "site", "dsik=gp2"), ("regressions", "dsik=gp2"),
        ("results", "list", "dsik=gp2"), ("results", "delete", "dsik=gp2", "--yes"),
    ],
)  # fmt: skip
def test_every_command_names_the_nearest_key(call, arguments):
    code, _, err = call(*arguments)
    assert (code, "'dsik' is not a valid key of a selection" in err) == (2, True), err
    assert "did you mean disk" in " ".join(err.split())
    assert "team" in err, "labels that there are"


@pytest.mark.slow
@pytest.mark.parametrize("command", [one for one in ON_RUNS if one[0] != "compare"])
def test_every_command_takes_names(call, command):
    call.done(*command, "last~1", "2026-01-01..2099-01-01")


@pytest.mark.parametrize("command", [one for one in ON_RUNS if one[0] != "compare"])
def test_a_name_that_means_no_run_is_refused(call, tmp_path, command):
    assert "disk=gp9" in call.refused(*command, "disk=gp9")
    assert not (tmp_path / "site").exists()


def test_several_names_are_runs_of_any_of_them_and_no_word_with_two_dashes_is_a_day(call):
    _, out, _ = call("results", "list", "disk=gp3", "disk=gp2", "--output", "csv")
    assert len(out.splitlines()) == 4
    _, out, _ = call("results", "list", "disk=gp3", "disk=gp2", "-f", "disk=gp3", "--output", "csv")
    assert len(out.splitlines()) == 2
    code, _, err = call("results", "list", "gp2-or-gp3")
    assert (code, "gp2-or-gp3" in err) == (2, True), err
    assert "not a time" not in err


def table_lines() -> list[str]:
    """The keys as a table of Markdown, as it stands in docs/compare.md."""
    rows = [
        f"| `{name}` | `{column}` | `{example}` | {words} |"
        for name, (column, example, words) in KEYS.items()
    ]
    return ["| key | column | example | meaning |", "| --- | --- | --- | --- |", *rows]


def test_the_page_lists_the_keys():
    """To bring it up to date: print(*table_lines(), sep="\\n") of this file."""
    text = DOCS.read_text()
    for line in table_lines():
        assert line in text


def test_an_export_has_the_format_that_its_name_says(call, tmp_path):
    kinds = {"x.parquet": b"PAR1", "x.PARQUET": b"PAR1", "x.json": b"{", "x.csv": b"run_id,"}
    for name, begins in {**kinds, "x": b"run_id,"}.items():
        assert call("results", "export", "--to", name)[0] == 0
        assert (tmp_path / name).read_bytes().startswith(begins)


@pytest.mark.parametrize("name", ["x.xyz", "x.txt", "x.csv.gz", "x.prom"])
def test_an_export_under_a_name_that_says_no_format_is_refused(call, tmp_path, name):
    code, _, err = call("results", "export", "--to", name)
    assert code == 2
    assert [one for one in get_args(ExportFormat) if f".{one}" not in err] == []
    assert not (tmp_path / name).exists()
    assert call("results", "export", "--format", "csv", "--to", name)[0] == 0


def test_a_format_that_contradicts_the_name_is_refused(call, tmp_path):
    for kind, name in {"csv": "x.parquet", "parquet": "x.csv", "json": "x.CSV"}.items():
        told = call.refused("results", "export", "--format", kind, "--to", name)
        assert "contradicts the name" in told
        assert not (tmp_path / name).exists()


@pytest.mark.parametrize("more", [(), ("--post", "iaas-2018", "--chart", "azure")])
def test_a_report_is_never_written_under_the_name_of_another_format(call, tmp_path, more):
    code, _, err = call("report", *more, "--format", "html", "-o", "x.png")
    assert (code, "contradicts the name of x.png, which says png" in err) == (2, True), err
    assert not (tmp_path / "x.png").exists()


def test_a_list_fits_80_columns_and_wide_has_everything(call):
    code, out, _ = call("results", "list")
    lines = out.splitlines()
    assert code == 0
    assert max(map(len, lines)) <= 80
    assert " gp2 20 GiB " in lines[-1]
    assert "3,000 IOPS" in lines[-1]
    call.done("compare", lines[-1].split()[0], lines[1].split()[0])
    code, out, _ = call("results", "list", "--wide")
    header, *lines = out.splitlines()
    assert {"disk", "region", "instance", "where", "labels"} <= set(header.split())
    assert max(map(len, lines)) > 80


def test_an_id_is_short_for_a_person_and_whole_for_a_program(capsys, monkeypatch):
    for is_terminal in (True, False):
        monkeypatch.setattr("sys.stdout.isatty", lambda told=is_terminal: told)
        print_id("01kq8z6rj0aaaaaaaaaaaaaaa1")
    assert capsys.readouterr().out.split() == ["aaaaaaa1", "01kq8z6rj0aaaaaaaaaaaaaaa1"]
