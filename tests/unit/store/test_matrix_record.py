"""The record of a matrix: built once for all of its workers, page by page."""

import json

import pytest
import sqlalchemy as sa
from tests.rigs.matrix_rows import CAMPAIGN, campaign_row, cell_row

from diskbench.store import kept_rows, schema
from diskbench.store.campaigns import save_campaign
from diskbench.store.database import transaction

KEY = kept_rows.matrix_key(CAMPAIGN)


def in_rows(database):
    """The record as its model writes it from all rows at once."""
    with transaction(database) as connection:
        matrix, cells, machines = (
            [
                dict(row)
                for row in connection.execute(
                    sa.select(table).order_by(*table.primary_key.columns)
                ).mappings()
            ]
            for table in (schema.matrix, schema.cell, schema.machine)
        )
    record = kept_rows.MatrixRecord(matrix=matrix[0], cells=tuple(cells), machines=tuple(machines))
    return record.model_dump_json(indent=1).encode()


@pytest.mark.parametrize("count", [0, 1, 3, 4, 10])
def test_pages_of_cells_give_the_text_of_the_whole(database, evidence, monkeypatch, count):
    monkeypatch.setattr(kept_rows, "_CELLS_AT_ONCE", 3)
    hostile = {"text": 'x\n "cells": []', '\n "cells": [': [], "ä": '\n ],\n "machines": []\n}'}
    cells = [cell_row(n, error='\n ],\n "machines": []\n}') for n in range(count)]
    save_campaign(database, campaign_row(spec=hostile), cells)
    kept_rows.keep_matrix(database, evidence, CAMPAIGN)
    assert evidence.get(KEY) == in_rows(database)
    assert len(json.loads(evidence.get(KEY))["cells"]) == count


def test_a_second_worker_reads_no_rows_for_a_record_that_is_there(database, evidence):
    save_campaign(database, campaign_row(), [cell_row(0)])
    kept_rows.keep_begun_matrix(database, evidence, CAMPAIGN)
    written, sent = evidence.get(KEY), []
    sa.event.listen(database, "before_cursor_execute", lambda *given: sent.append(given[2]))
    kept_rows.keep_begun_matrix(database, evidence, CAMPAIGN)
    assert (evidence.get(KEY), sent) == (written, [])


def test_the_end_that_another_process_wrote_meanwhile_stays(database, evidence, monkeypatch):
    save_campaign(database, campaign_row(), [cell_row(0)])
    late = evidence.list

    def ended_meanwhile(prefix):
        found = late(prefix)
        kept_rows.keep_matrix(database, evidence, CAMPAIGN, ending={"state": "done"})
        return found

    monkeypatch.setattr(evidence, "list", ended_meanwhile)
    kept_rows.keep_begun_matrix(database, evidence, CAMPAIGN)
    assert json.loads(evidence.get(KEY))["matrix"]["state"] == "done"
