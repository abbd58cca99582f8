"""Weights on the features inside a kernel, learned together with an SVM."""
