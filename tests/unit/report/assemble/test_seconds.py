from diskbench.report.assemble.seconds import step_seconds


def second(n, iops, *, step="a", index=0, direction="read"):
    return {"step": step, "step_index": index, "second": n, "direction": direction, "iops": iops}


def test_idle_directions_are_left_out_and_seconds_without_io_stay():
    rows = [second(1, 0.0), second(0, 5.0), second(0, 0.0, direction="write")]
    (found,) = step_seconds(rows)
    assert found.directions == {"read": ((0, 5.0), (1, 0.0))}
    assert found.n == 2


def test_of_a_repeated_step_the_last_round_is_kept_in_the_order_of_the_steps():
    rows = [second(0, 1.0, index=1), second(0, 9.0, step="b", index=2), second(0, 2.0, index=3)]
    found = step_seconds(rows)
    assert [(one.step, one.directions["read"][0][1]) for one in found] == [("b", 9.0), ("a", 2.0)]
