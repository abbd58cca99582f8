"""Optimisation methods; each knows its problem and none of its users."""
