"""Workers of a process that was killed."""

import os

import pytest

pytestmark = pytest.mark.skipif(os.name == "nt", reason="parents and signals of Unix")


def test_workers_end_within_seconds_of_their_parent():
    from trials.places import orphan_trial

    counts, wrong = orphan_trial(0)
    assert not wrong, wrong
    assert counts["violated"] == 0
