from tests.rigs.plans import make_plan, save_plan

from diskbench.store.rows import add_timing, load_timing


def test_the_time_of_a_trial_is_kept_in_the_order_of_its_way(any_database):
    plan = make_plan()
    save_plan(any_database, plan, "file:///e")
    add_timing(any_database, plan.trial_id, {"rent": 41.5, "fio itself": 30.0, "collect": 0.1})
    assert list(load_timing(any_database, plan.trial_id)) == ["rent", "fio itself", "collect"]


def test_whoever_goes_on_with_a_trial_adds_to_its_time(any_database):
    plan = make_plan()
    save_plan(any_database, plan, "file:///e")
    add_timing(any_database, plan.trial_id, {"rent": 40.0, "fio itself": 30.0})
    add_timing(any_database, plan.trial_id, {"fio itself": 2.0, "release": 5.0})
    assert load_timing(any_database, plan.trial_id) == {
        "rent": 40.0,
        "fio itself": 32.0,
        "release": 5.0,
    }


def test_of_a_trial_without_timing_there_is_none(any_database):
    assert load_timing(any_database, "never") == {}
