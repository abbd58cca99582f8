"""Ranking with few kernel functions: objectives, bounds, thresholds and measures."""
