"""A trial is judged once, whatever is printed of it."""

from types import SimpleNamespace

import pytest
import sqlalchemy as sa
from tests.books import SHIPPED
from tests.rigs.plans import make_plan

from diskbench.cli import run_results
from diskbench.store.database import open_database
from diskbench.store.evidence import open_evidence
from diskbench.store.query import find_runs
from diskbench.store.rows import save_plans


def ending(name, *fail_if):
    plan = SimpleNamespace(
        trial_id=name, run_ids=(name,), cell=SimpleNamespace(fail_if=fail_if), address=None
    )
    return SimpleNamespace(
        plan=plan, refused=None, end=None, suspended=None, not_released=None, exit_code=0
    )


@pytest.mark.parametrize(
    ("fail_if", "read", "judged"), [((), [], ["a", "b"]), (("p99 > 1ms",), ["a", "b"], [])]
)
def test_csv_judges_each_trial_once_with_fail_if_and_without(monkeypatch, fail_if, read, judged):
    calls = {"read": [], "judged": []}
    monkeypatch.setattr(run_results, "rows_as_csv", lambda *_, **__: [])
    monkeypatch.setattr(run_results, "judge_trial", lambda _, name: calls["judged"].append(name))
    monkeypatch.setattr(run_results, "find_runs", lambda _, run_ids: run_ids)
    monkeypatch.setattr(
        run_results,
        "read_ended",
        lambda _, runs, __: calls["read"].extend(runs) or {"a": 1, "b": 2},
    )
    monkeypatch.setattr(run_results, "view_of", lambda _: SimpleNamespace(missed=()))
    monkeypatch.setattr(run_results, "names_of", lambda plans: [plan.trial_id for plan in plans])
    show = SimpleNamespace(output="csv", junit=None, timing=False)
    session = SimpleNamespace(database=None)
    endings = [ending("a", *fail_if), ending("b", *fail_if)]
    assert run_results.show_results(session, endings, show) == 0
    assert calls == {"read": read, "judged": judged}


def statements_to_read(database, evidence, count):
    """The statements that read the results of `count` trials of one run."""
    plans = [make_plan((f"{count * 10 + n:026}",)) for n in range(count)]
    save_plans(database, plans, evidence.url)
    sent: list[str] = []

    def note(_connection, _cursor, statement, *_):
        sent.append(statement)

    sa.event.listen(database, "before_cursor_execute", note)
    session = SimpleNamespace(database=database, evidence_of=lambda _: evidence, books=SHIPPED)
    runs = find_runs(database, run_ids=[run_id for plan in plans for run_id in plan.run_ids])
    read = run_results.read_ended(session, runs)
    sa.event.remove(database, "before_cursor_execute", note)
    assert list(read) == [plan.trial_id for plan in reversed(plans)]
    return len(sent)


def test_the_results_of_many_hosts_are_read_with_as_many_statements_as_one(tmp_path):
    database = open_database(f"sqlite:///{tmp_path}/rows.db")
    evidence = open_evidence(f"file://{tmp_path}/evidence")
    one, many = (statements_to_read(database, evidence, count) for count in (1, 8))
    database.dispose()
    assert many == one
