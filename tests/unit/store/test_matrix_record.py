"""The record of a matrix: built once for all of its workers."""

import json

import sqlalchemy as sa
from tests.rigs.matrix_rows import CAMPAIGN, campaign_row, cell_row

from diskbench.store import kept_rows
from diskbench.store.campaigns import save_campaign

KEY = kept_rows.matrix_key(CAMPAIGN)


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
