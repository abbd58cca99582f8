"""Generators with known answers."""
