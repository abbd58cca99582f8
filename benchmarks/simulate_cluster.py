"""Plays a fit on N nodes: tasks of measured lengths, a scheduler, a network, and workers that are slow now and then.

    python benchmarks/simulate_cluster.py select --rows 1e9 --columns 1e3 --nodes 16 64
    python benchmarks/simulate_cluster.py rank --rows 1e8 --rare 1e3 --columns 20 --nodes 16 64
    python benchmarks/simulate_cluster.py select --rows 1e9 --columns 1e3 --nodes 64 --slow-share 0.02 --slow 5

Task lengths are rows and columns times `UNITS`, seconds of one thread that `benchmarks/cluster.py units` measures.
Every number that a statement rests on is an option. A fit is a list of rounds; in a round each block is one task,
results are added up by a tree or go to the client, and the client works before the next round starts.
"""

import argparse
import heapq
import math
from dataclasses import dataclass, replace

import numpy as np

UNITS = {"gram": 2.6e-11, "kernel": 2.0e-9, "product": 2.5e-10, "row of the loss": 1.1e-7}
"""Seconds of one thread: of a row x column x column of a Gram matrix, of a kernel value (20 features), of an entry in a
product, and of a row when the loss of all pairs is computed, which is a sort."""
_TREE = 8
"""Results that one task adds up, as in `rarefy.backends.cluster`."""


@dataclass(frozen=True)
class Machine:
    """Nodes, and what lies between them."""

    nodes: int = 16
    cores: int = 16
    network: float = 1.25e9
    """Bytes a second into or out of a node, and of the client: 10 Gbit/s."""
    disk: float = 2e9
    """Bytes a second that a node reads."""
    task: float = 1e-3
    """Seconds of the scheduler for each task; one at a time."""
    slow_share: float = 0.0
    slow: float = 1.0
    """Share of the tasks that take so many times as long."""
    spread: float = 0.05
    """Standard deviation of the logarithm of task lengths."""
    seed: int = 0


@dataclass(frozen=True)
class Round:
    """What happens between two points at which the client waits."""

    name: str
    tasks: int
    work: float
    """Seconds of one thread for a task."""
    read: float = 0.0
    """Bytes that a task reads from the disk of its node."""
    sent: float = 0.0
    """Bytes that a task needs from the client."""
    result: float = 0.0
    """Bytes of a result."""
    summed: bool = False
    """Whether results are added up by a tree; else all go to the client."""
    client: float = 0.0
    """Seconds of the client at the end."""
    times: int = 1


def blocks_of(n, bytes_of_row, machine):
    """How many blocks: about 128 MB each, and at least four for each core where there are rows enough."""
    return max(1, math.ceil(n * bytes_of_row / 128e6), min(4 * machine.nodes * machine.cores, n // 10_000))


def selection(n, d, machine):
    """One pass for the Gram matrix of d columns, whose eigenvectors the client computes."""
    tasks = blocks_of(n, 4 * d, machine)
    rows = n / tasks
    client = 9.0 * d**3 / 2e10
    return [Round("Gram matrix", tasks, UNITS["gram"] * rows * d * d, 4 * d * rows, 0.0, 8.0 * d * d, True, client)]


def ranking(n, r, d, machine, products=30, losses=12):
    """Kernel values with r functions, kept by workers; then products with them, and losses by the client."""
    tasks = blocks_of(n, 4 * r, machine)
    rows = n / tasks
    kernel = UNITS["kernel"] * rows * r * (1.0 + d / 60.0) / (1.0 + 20 / 60.0)
    entry = UNITS["product"] * rows * r
    loss = UNITS["row of the loss"] * n
    return [
        Round("kernel values", tasks, kernel, 4 * d * rows, 4.0 * r * d),
        Round("products", tasks, entry, 0.0, 8.0 * r, 8.0 * rows, False, loss * losses / products, products),
        Round("transposed products", tasks, entry, 0.0, 8.0 * rows, 8.0 * r, True, 0.0, products),
    ]


def play(rounds, machine):
    """Seconds of each round, by its name, with the share of it that workers compute."""
    rng = np.random.default_rng(machine.seed)
    found = {}
    for one in rounds:
        seconds, busy = zip(*(_play(one, machine, rng) for _ in range(min(one.times, 3))), strict=True)
        whole = float(np.mean(seconds)) * one.times
        found[one.name] = whole, float(np.mean(busy)) * one.times / max(whole, 1e-300)
    return found


def _play(one, machine, rng):
    """One round, event by event: the scheduler hands out tasks in turn to the core that is free first."""
    workers = machine.nodes * machine.cores
    lengths = one.work * np.exp(rng.normal(0.0, machine.spread, one.tasks)) if machine.spread else np.full(
        one.tasks, one.work
    )  # fmt: skip
    lengths = np.where(rng.random(one.tasks) < machine.slow_share, machine.slow * lengths, lengths)
    # What tasks on a node read or get shares the node's disk and network.
    arrives = one.read * min(machine.cores, one.tasks) / machine.disk + one.sent / machine.network
    free = [0.0] * min(workers, one.tasks)
    heapq.heapify(free)
    sent, last = 0.0, 0.0
    for length in lengths:
        sent += machine.task + one.sent / machine.network  # the client or the scheduler sends one after the other
        begin = max(heapq.heappop(free), sent)
        # The next block is read while this one is worked on: the longer of the two counts.
        end = begin + max(length, arrives)
        heapq.heappush(free, end)
        last = max(last, end)
    last += _tree(one, machine) if one.summed else one.tasks * one.result / machine.network
    return last + one.client, lengths.sum() / min(workers, one.tasks)


def _tree(one, machine):
    """Results are moved to the workers that add them up, level after level."""
    seconds, left = 0.0, one.tasks
    while left > 1:
        groups = math.ceil(left / _TREE)
        members = min(_TREE, left)
        adding = one.result / 8.0 * 1e-9 * members
        at_once = min(groups, machine.nodes)
        seconds += groups * machine.task + math.ceil(groups / at_once) * members * one.result / machine.network + adding
        left = groups
    return seconds + one.result / machine.network


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["select", "rank"])
    parser.add_argument("--rows", type=lambda text: int(float(text)), default=10**9)
    parser.add_argument("--columns", type=lambda text: int(float(text)), default=1000)
    parser.add_argument("--rare", type=lambda text: int(float(text)), default=1000)
    parser.add_argument("--nodes", type=int, nargs="+", default=[16, 64])
    for name in ("cores", "network", "disk", "task", "slow-share", "slow", "spread", "seed"):
        default = getattr(Machine(), name.replace("-", "_"))
        parser.add_argument(f"--{name}", type=type(default), default=default)
    args = parser.parse_args()
    given = {name: getattr(args, name) for name in Machine.__dataclass_fields__ if name != "nodes"}
    for nodes in args.nodes:
        machine = replace(Machine(**given), nodes=nodes)
        rounds = (
            selection(args.rows, args.columns, machine)
            if args.what == "select"
            else ranking(args.rows, args.rare, args.columns, machine)
        )
        found = play(rounds, machine)
        print(f"{nodes} nodes of {machine.cores} cores: {sum(seconds for seconds, _ in found.values()):.0f} s")
        for name, (seconds, busy) in found.items():
            print(f"  {name}: {seconds:.1f} s, workers busy {busy:.0%}")


if __name__ == "__main__":
    main()
