"""All trials: what each is about, how large it is, and which of its counts have to be zero or small.

A trial is a list of pieces, each of which is independent of the others and of what came before: a run that was
interrupted goes on behind the last piece that was finished.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain

from trials.bombs import bomb_trial
from trials.bombs import cases as bombs
from trials.clusters import cluster_trials
from trials.exact import DECADES, objective_trial, trial
from trials.features import ESTIMATORS, PROBLEMS, feature_piece
from trials.forgeries import forgery_matrix
from trials.fuzz import fuzz_piece, table
from trials.inputs import input_piece, place_trials
from trials.interrupts import interrupt_trial
from trials.kills import COMMANDS, kill_piece
from trials.mutants import mutant_pieces
from trials.places import place_pieces
from trials.programs import program_trial
from trials.ranking import promise_trial, score_trial, solver_trial
from trials.readers import reader_piece
from trials.resumes import client_piece, command_piece
from trials.strange_calls import strange_cases
from trials.subsets import subset_trial
from trials.threads import thread_trial
from trials.times import time_pieces

Outcome = tuple[Counter, list[str]]
Piece = tuple[str, Callable[[], Outcome]]


@dataclass(frozen=True)
class Goal:
    """A count that has to be at most a share of another one; zero if no share is named."""

    count: str
    of: str
    share: float = 0.0

    def met(self, counts):
        """Whether the goal is met; a trial that did nothing met none."""
        return counts.get(self.of, 0) > 0 and counts.get(self.count, 0) <= self.share * counts[self.of]

    def worse(self, counts, recorded):
        """Whether the count is larger than the recorded one, whose trial may have been larger or smaller."""
        if counts.get(self.of, 0) == 0:
            return True
        if self.share:
            return counts.get(self.count, 0) > self.share * counts[self.of]
        allowed = recorded.get(self.count, 0) * max(1.0, counts[self.of] / max(1, recorded.get(self.of, 0)))
        return counts.get(self.count, 0) > allowed


@dataclass(frozen=True)
class Trial:
    """A trial: its name, what it tries, its pieces for a size and a seed, and its sizes."""

    name: str
    about: str
    pieces: Callable[[int, int], Iterator[Piece]]
    full: int
    daily: int
    goals: tuple[Goal, ...]
    alone: bool = False
    """Whether its pieces must not run beside each other: they are measured, or take all cores."""


def _exact(n, seed):
    share = max(1, 2 * n // (3 * len(DECADES)))
    for decade in DECADES:
        for i in range(share):
            yield f"condition 1e{decade}", partial(trial, seed + i, decade)
    for i in range(max(1, n // 3)):
        yield "objectives", partial(objective_trial, seed + i)


def _forgery(n, seed):
    """n scales for every decade of the condition number; the first is 1."""
    for j, scale in enumerate([1.0, 1e3, 1e-3, 1e6, 1e-6][:n]):
        for decade in DECADES if n > 1 else DECADES[::7]:
            yield f"scale {scale:g}", partial(_forged, seed + 100 * j + decade, decade, scale)


def _forged(seed, decade, scale):
    tally = forgery_matrix(seed, [10.0**decade], [scale])
    bad = ("honest, not verified", "accepted and improved", "raw errors", "disagreements")
    counts = tally.counts
    return counts, [f"{name}: {one}" for name in bad if counts[name] for one in tally.examples[name]]


def _ranking(n, seed):
    for i in range(n):
        yield "scores", partial(score_trial, seed + i)
    for i in range(max(1, n // 5)):
        yield "solvers", partial(solver_trial, seed + i)
    for i in range(8):
        yield "promises", partial(promise_trial, seed + i, n)


def _seeds(name, function):
    return lambda n, seed: ((name, partial(function, seed + i)) for i in range(n))


def _features(n, seed):
    for make in ESTIMATORS:
        for name in PROBLEMS:
            for odd in (False, True):
                yield make.__name__, partial(feature_piece, make, name, odd, n, seed)


def _inputs(n, seed):
    parts = max(1, n // 50)
    files = (("files", partial(input_piece, n, seed, k, parts)) for k in range(parts))
    return chain(files, [("places", place_trials)])


def _fuzz(n, seed):
    """n of 40 parts of the table of bad calls, each with 250 strange ones."""
    for k in range(n):
        yield "bad calls", partial(fuzz_piece, partial(table, (seed + k) % 40, 40))
        yield "strange calls", partial(fuzz_piece, partial(strange_cases, 1000 * (40 * seed + k), 250))


def _kills(n, seed):
    """n commands, all in turn; those that take long are tried less often."""
    names = [name for name in COMMANDS if COMMANDS[name].every == 1]
    for i in range(n):
        rare = [name for name in COMMANDS if COMMANDS[name].every > 1 and i % COMMANDS[name].every == 0 and i]
        name = rare[0] if rare else names[i % len(names)]
        yield name, partial(kill_piece, name, seed + i)


def _clusters(n, seed):
    """n workers, five in each cluster, and a client for each of these."""
    for first in range(0, n, 5):
        yield "workers and clients", partial(_cluster, min(5, n - first), seed + first)


def _cluster(n, seed):
    total, wrong = Counter(), []
    for counts, faults in cluster_trials(n, seed):
        total.update(counts + Counter({"killed": 1}))
        wrong += faults
    return total, wrong


def _resumes(n, seed):
    """n commands, and a fit in Python for every second one."""
    for i in range(n):
        yield "rarefy rank --resume", partial(command_piece, seed + i)
        if i % 2:
            yield "a fit with a checkpoint", partial(client_piece, seed + i)


def _bombs(n, seed):
    """Every n-th of the cases, from one on that the seed says."""
    for shape, name in list(bombs())[seed % n :: n]:
        yield shape, partial(bomb_trial, shape, name)


TRIALS = (
    Trial(
        "exact",
        "Certificates of columns against rational arithmetic, by decade of the condition number",
        _exact,
        100_000,
        4_000,
        (Goal("violated", "problems"), Goal("honest, not verified", "problems")),
    ),
    Trial(
        "forgery",
        "Certificates with forged fields, which `verify` and the checker must refuse unless no claim is better",
        _forgery,
        5,
        1,
        tuple(
            Goal(name, "forgeries")
            for name in ("accepted and improved", "honest, not verified", "disagreements", "raw errors")
        ),
    ),
    Trial(
        "programs",
        "SVMs by linear programs against HiGHS and libsvm",
        _seeds("programs", program_trial),
        10_000,
        300,
        (Goal("violated", "programs"),),
    ),
    Trial(
        "ranking",
        "Bounds on scores, rankers against L-BFGS, and promises of recall against resampling",
        _ranking,
        1_000,
        60,
        (Goal("violated", "problems"),),
    ),
    Trial(
        "subsets",
        "Bounds over all choices of columns against all choices",
        _seeds("subsets", subset_trial),
        3_000,
        100,
        (Goal("violated", "problems"),),
    ),
    Trial(
        "features",
        "What kernel feature selectors find by default where the right columns are known",
        _features,
        10,
        1,
        (Goal("violated", "fits"),),
    ),
    Trial(
        "inputs",
        "Malformed files and places through the commands",
        _inputs,
        10_000,
        300,
        (Goal("violated", "inputs"),),
    ),
    Trial(
        "fuzz",
        "Estimators and functions with bad data, labels, weights and parameters",
        _fuzz,
        40,
        4,
        (Goal("violated", "calls"),),
    ),
    Trial(
        "readers",
        "Changed bytes into every reader of files, certificates and models",
        _seeds("readers", reader_piece),
        2_000,
        60,
        (Goal("violated", "files"),),
    ),
    Trial(
        "state",
        "Fits that are interrupted at random instructions",
        _seeds("state", interrupt_trial),
        5_000,
        150,
        (Goal("violated", "interrupts"),),
    ),
    Trial(
        "kills",
        "Commands that are ended at random moments",
        _kills,
        500,
        24,
        (Goal("violated", "commands"),),
    ),
    Trial(
        "places",
        "Writers of one file, full disks, read-only folders, clocks that jump, workers without a parent",
        place_pieces,
        20,
        2,
        (Goal("violated", "places"),),
        alone=True,
    ),
    Trial(
        "clusters",
        "Workers of a cluster and clients that are killed in a fit, which goes on to the same result",
        _clusters,
        100,
        5,
        (Goal("violated", "killed"),),
        alone=True,
    ),
    Trial(
        "resumes",
        "Commands and fits on blocks that are killed and given again, which go on to the same result",
        _resumes,
        100,
        4,
        (Goal("violated", "killed"),),
    ),
    Trial(
        "threads",
        "Fits at a time in threads and processes: results, and the number of BLAS threads",
        _seeds("threads", thread_trial),
        300,
        12,
        (Goal("violated", "fits"),),
        alone=True,
    ),
    Trial(
        "bombs",
        "Data of shapes that ask for too much memory or time, in a process with 4 GiB",
        _bombs,
        1,
        12,
        (Goal("violated", "bombs"),),
        alone=True,
    ),
    Trial(
        "mutation",
        "Changes to the source of core, which unit tests must notice",
        mutant_pieces,
        400,
        25,
        (Goal("survived", "mutants", 0.05),),
    ),
    Trial(
        "times",
        "Processor time of main paths against a yardstick of numpy in the same process",
        time_pieces,
        5,
        1,
        (Goal("slower", "paths"),),
        alone=True,
    ),
)
