"""Small benchmarks that asv runs over time; `make bench` has the comparisons with other libraries."""
