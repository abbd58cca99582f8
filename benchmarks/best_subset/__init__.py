"""Parts of `bench_best_subset.py`."""
