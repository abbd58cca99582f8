"""Losses of single scores and of pairs of scores, with their derivatives."""
