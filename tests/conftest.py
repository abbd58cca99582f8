"""Settings for all tests."""

from hypothesis import settings

# Problems are built from a seed, so time per example varies with the machine and not with the input.
settings.register_profile("rarefy", deadline=None, derandomize=True)
settings.load_profile("rarefy")
