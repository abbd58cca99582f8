"""Matrices: the `Rows` protocol with its dense and sparse forms, spectra, Cholesky factors, landmarks, threads."""
