"""The simulator of fits on a cluster, against what can be said without it."""

import math
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.simulate_cluster import Machine, Round, play, ranking, selection

IDEAL = Machine(nodes=1, cores=1, network=math.inf, disk=math.inf, task=0.0, spread=0.0)


def seconds(one, machine):
    return play([one], machine)[one.name][0]


def test_tasks_of_equal_length_share_the_cores():
    one = Round("work", 96, 0.5)
    assert seconds(one, IDEAL) == pytest.approx(48.0)
    assert seconds(one, replace(IDEAL, nodes=4, cores=3)) == pytest.approx(4.0)
    assert seconds(one, replace(IDEAL, nodes=100)) == pytest.approx(0.5)  # no less than one task


def test_a_scheduler_that_is_slower_than_the_workers_is_what_counts():
    one = Round("work", 1000, 0.01)
    assert seconds(one, replace(IDEAL, nodes=1000, task=0.02)) == pytest.approx(1000 * 0.02 + 0.01)


def test_reading_and_computing_overlap():
    one = Round("work", 10, 1.0, read=3e9)
    assert seconds(one, replace(IDEAL, disk=1e9)) == pytest.approx(30.0)
    assert seconds(one, replace(IDEAL, disk=1e10)) == pytest.approx(10.0)


def test_results_go_to_the_client_or_are_added_up_on_the_way():
    gathered, summed = Round("work", 64, 1.0, result=1e9), Round("work", 64, 1.0, result=1e9, summed=True)
    machine = replace(IDEAL, nodes=64, network=1e9)
    assert seconds(gathered, machine) == pytest.approx(1.0 + 64.0)
    # Two levels of eight, each moved at the same time as the others of its level, then one result to the client.
    assert seconds(summed, machine) == pytest.approx(1.0 + 8 + 8 + 1, rel=0.2)


def test_slow_tasks_cost_the_more_the_fewer_a_core_has():
    one, machine = Round("work", 640, 1.0), replace(IDEAL, nodes=64, slow_share=0.02, slow=5.0)
    few, many = seconds(one, machine), seconds(replace(one, tasks=64), machine)
    assert few / 10.0 < many / 1.0
    assert few >= 10.0


def test_the_client_works_after_each_repetition():
    assert seconds(Round("work", 4, 1.0, client=2.0, times=3), replace(IDEAL, cores=4)) == pytest.approx(9.0)


@pytest.mark.parametrize("rounds", [selection(10**7, 200, Machine()), ranking(10**7, 300, 20, Machine())])
def test_more_nodes_do_not_add_work(rounds):
    for nodes in (1, 16):
        found = play(rounds, replace(Machine(), nodes=nodes))
        assert all(np.isfinite(whole) and 0.0 <= busy <= 1.01 for whole, busy in found.values())
