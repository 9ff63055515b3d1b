"""A matrix whose replicates go on until their interval is narrow (MR-7), fed from its rows."""

import random

import pytest
from tests.rigs.matrix_rows import campaign_row, cell_row
from tests.rigs.replicates import measured, ulid
from tests.unit.engine.matrix.test_matrix_file import mistakes

from diskbench.engine.matrix.admission import admit_cells
from diskbench.engine.matrix.status import matrix_status
from diskbench.model.matrix import Limits
from diskbench.report.terminal.status_text import until_words
from diskbench.results.replicate_set import statuses_of
from diskbench.store.campaigns import done_trials, find_campaign, load_cells, save_campaign
from diskbench.store.dialects import now

CAMPAIGN = ulid(1_790_000_000, 0)
"""The one that `measured` writes its trials into."""
BLOCK = "aws/gp2"


def drawn(count, sd, seed=1):
    draw = random.Random(seed)
    return [3000 * (1 + draw.gauss(0, sd)) for _ in range(count)]


def matrix(database, values, *, cells=30, **limits):
    """One block, of which a cell a value is done, and a look at it."""
    trials = measured(database, values)
    of_block = {"campaign_id": CAMPAIGN, "block": BLOCK}
    rows = [cell_row(n, key=f"{BLOCK}#{n}", **of_block) for n in range(cells)]
    for n, trial in enumerate(trials):
        done = {"state": "done", "trial_id": trial, "started_at": now(), "finished_at": now()}
        rows[n] = rows[n].model_copy(update=done)
    made = Limits.model_validate({"until_ci": 0.05, "max_parallel": 50} | limits)
    campaign = campaign_row(campaign_id=CAMPAIGN, limits=made, created_at=now())
    save_campaign(database, campaign, rows)
    return admit_cells(database, find_campaign(database, CAMPAIGN))[0]


def counted(database):
    states = [cell.state for cell in load_cells(database, CAMPAIGN)]
    return {state: states.count(state) for state in dict.fromkeys(states)}


def words(database):
    (told,) = matrix_status(database, find_campaign(database, CAMPAIGN)).until
    return until_words(told)


def test_nothing_measured_ten_begin(database):
    matrix(database, [])
    assert counted(database) == {"queued": 10, "waiting": 20}


def test_ten_alike_end_it_and_the_rest_is_spared_not_refused(database):
    ended = matrix(database, drawn(10, 0.01))
    assert counted(database) == {"done": 10, "spared": 20}
    assert ended.state == "done"
    assert words(database).startswith("reached: within ±1.24 % after 10 replicates")
    assert "the interval is within 5 %" in load_cells(database, CAMPAIGN)[-1].error


def test_noise_lets_as_many_more_begin_as_are_predicted(database):
    matrix(database, drawn(10, 0.045))
    (seen,) = statuses_of(database, CAMPAIGN, done_trials(database, CAMPAIGN), 0.05).values()
    assert seen.more
    assert counted(database) == {"done": 10, "queued": seen.more, "waiting": 20 - seen.more}
    assert f"about {seen.more} more" in words(database)


def test_the_step_that_is_worst_off_decides(database):
    measured(database, drawn(10, 0.10), step="noisy")
    matrix(database, drawn(10, 0.01, seed=2))
    (seen,) = statuses_of(database, CAMPAIGN, done_trials(database, CAMPAIGN), 0.05).values()
    assert (seen.step, seen.more) == ("read read", 0), "the other trials are of no cell"


def test_at_the_most_it_ends_and_says_that_it_was_not_reached(database):
    matrix(database, drawn(12, 0.08), cells=12)
    told = words(database)
    assert told.startswith("not reached: within ±")
    assert told.endswith("all 12 replicates were measured")


def test_a_budget_spares_further_ones_and_refuses_needed_ones(database):
    matrix(database, drawn(10, 0.08), budget=0.5)
    counts = counted(database)
    assert (counts["done"], counts.get("refused"), counts["spared"] > 0) == (10, None, True)
    assert any("budget" in (cell.error or "") for cell in load_cells(database, CAMPAIGN))


def test_ten_that_the_budget_does_not_allow_are_refused(database):
    matrix(database, [], budget=0.5)
    assert counted(database)["refused"] > 0


LAB, LOCAL = "{provider: lab, disk: gp2, size: 20", "{provider: local, path: /mnt}"


@pytest.mark.parametrize(
    ("limits", "cells", "told"),
    [
        ("{until_ci: 5%}\nreuse_host: true", f"{LAB}, instance_type: m5.large}}",
         "2: until_ci and reuse_host: one machine is"),
        ("{max_replicates: 20}", f"{LAB}}}", "2: limits.max_replicates has no effect without"),
        ("{until_ci: 5%, min_replicates: 20, max_replicates: 12}", f"{LAB}}}", "2: limits.max_rep"),
        ("{until_ci: 5}", f"{LAB}}}", "2: limits.until_ci: "),
        ("{until_ci: wide}", f"{LAB}}}", "2: limits.until_ci: "),
        ("{until_ci: 5%, min_replicates: 6}", f"{LAB}}}", "2: limits.min_replicates: "),
        ("{until_ci: 5%}", f"{LAB}, replicates: 6}}",
         "5: replicates and limits.until_ci both set the number of replicates; leave it out"),
        ("{until_ci: 5%}", f"{LAB}}}\n  - {LOCAL}",
         "6: until_ci needs a new machine for each replicate, and local rents none; measure exist"),
    ],
)  # fmt: skip
def test_what_contradicts_it_is_told_with_its_line(tmp_path, limits, cells, told):
    head = f"name: mine\nlimits: {limits}\ndefaults: {{profile: quick}}\n"
    found = mistakes(tmp_path, f"{head}include:\n  - {cells}\n")
    assert any(one.startswith(told) for one in found), found
