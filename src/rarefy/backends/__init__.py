"""Implementations of `Rows` beside dense and sparse arrays."""
