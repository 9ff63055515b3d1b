import hashlib
import json
from pathlib import Path

import pytest
from tests.rigs.measured import TIMES
from tests.rigs.plans import RUN_IDS, make_plan, make_step, run_fio

from diskbench.errors import EvidenceDamaged, FioFailed, FioOutputUnreadable
from diskbench.fio.output import parse_output
from diskbench.fio.rows import measurements
from diskbench.store.parse_step import PARSED_FILES, PARSER_VERSION, step_result

CASES = Path(__file__).parents[2] / "cases" / "fio_output"


def parse(step, files):
    return step_result(step, RUN_IDS[0], files, make_plan().facts, **TIMES)


def test_a_real_step_has_rows_for_the_job_and_for_the_step(fio_files):
    step, files = fio_files[1]
    result = parse(step, files)
    found = [(m.scope, m.direction) for m in result.measurements]
    assert found == [("job", "read"), ("step", "read")]
    assert result.measurements[0].ios == 64
    assert result.fio_version.startswith("fio-3.")
    assert result.seconds_in_fio > 0


def test_files_that_are_not_parsed_change_nothing_and_what_cannot_be_read_is_named(fio_files):
    step, files = fio_files[0]
    needed = {name: data for name, data in files.items() if name in PARSED_FILES}
    assert parse(step, needed) == parse(step, files)
    with pytest.raises(EvidenceDamaged, match=r"fio\.exit of step 'write' holds 'killed'"):
        parse(step, files | {"fio.exit": b"killed"})
    with pytest.raises(FioOutputUnreadable, match=r"write/fio\.json"):
        parse(step, files | {"fio.json": b"no document"})
    assert parse(step, files | {"samples.txt": b""}).measurements


def test_what_fio_said_is_in_the_error_when_it_fails(tmp_path):
    step = make_step(rw="sideways")
    with pytest.raises(FioFailed, match=r"step 'write'(?s:.*)sideways"):
        parse(step, run_fio(tmp_path, step))


@pytest.mark.parametrize("name", ["fio.exit", "fio.json"])
def test_a_missing_file_is_named(fio_files, name):
    step, files = fio_files[0]
    with pytest.raises(EvidenceDamaged, match=f"left no {name}"):
        parse(step, {k: v for k, v in files.items() if k != name})


ROWS_OF_VERSION = {6: "0b4f610a4a1f5a27"}
"""Parser version → digest of the rows that it makes of kept outputs of fio."""


def test_whoever_changes_the_rows_of_the_same_files_raises_the_parser_version():
    digest = hashlib.sha256()
    for path in sorted(CASES.glob("v*-*.out")):
        if "error" in json.loads(path.with_suffix(".json").read_text()):
            continue
        output = parse_output(path.read_bytes(), where=path.name)
        for row in measurements(output, run_id="01run", step=make_step(0, "a", "rw")):
            values = row.model_dump(exclude_defaults=True)
            shown = {k: f"{v:.9g}" if isinstance(v, float) else v for k, v in values.items()}
            digest.update(json.dumps(shown, sort_keys=True).encode())
    assert ROWS_OF_VERSION[PARSER_VERSION] == digest.hexdigest()[:16], (
        "the same files give other rows: raise PARSER_VERSION, and write the new digest here"
    )
