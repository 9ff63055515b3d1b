import csv
import io
import json

import pytest
from tests.rigs.plans import make_plan
from tests.rigs.runs import a_run

from diskbench.model.run import RUN_FIELDS
from diskbench.store.document import results_document
from diskbench.store.export import csv_text, json_text
from diskbench.store.run_row import run_row


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
