import csv
import io
import json
import subprocess
import sys

import pytest
from tests.rigs.plans import make_plan
from tests.rigs.replicates import measured
from tests.rigs.runs import a_run

from diskbench.model.run import RUN_FIELDS
from diskbench.store.csv_rows import csv_text
from diskbench.store.database import open_database
from diskbench.store.document import results_document
from diskbench.store.export import json_text
from diskbench.store.run_row import run_row

HEAVY = ("sqlalchemy", "obstore", "numpy", "polars", "diskbench.model.spec")


@pytest.mark.parametrize("count", [0, 1, 20, 21, 300])
def test_json_of_any_length_is_the_same_document(count):
    runs = [a_run(profile=f"ü{i}") for i in range(count)]
    document = results_document(runs)
    text = json_text(document)
    assert json.loads(text) == document
    assert "\\u" not in text


def test_csv_survives_what_a_label_may_hold():
    plan = make_plan(labels=(("k", 'a "quoted", two-line\nvalue'),))
    text = csv_text([run_row(plan, 0, "file:///e")], RUN_FIELDS)
    [row] = csv.DictReader(io.StringIO(text))
    assert json.loads(row["labels"]) == {"k": 'a "quoted", two-line\nvalue'}
    assert (row["imported"], row["started_at"], row["run_index"]) == ("false", "", "0")


@pytest.mark.slow
def test_csv_of_short_steps_imports_neither_sqlalchemy_nor_models(tmp_path):
    url = f"sqlite:///{tmp_path}/short.db"
    engine = open_database(url)
    measured(engine, [3000.0])
    engine.dispose()
    code = (
        "import sys\nfrom diskbench.cli.main import main\n"
        f"sys.argv[1:] = ['results', 'export', '--format', 'csv', '--database-url', {url!r}]\n"
        "try:\n    main()\nexcept SystemExit as ended:\n    assert not ended.code\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("run_id,")
    assert len(done.stdout.splitlines()) > 1
    assert done.stderr.strip() == "[]"
