"""Counting: information gain and the stability of a selection."""
