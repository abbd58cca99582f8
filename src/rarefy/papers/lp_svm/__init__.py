"""Linear programming SVMs in a subspace of a kernel's feature space [YajimaOhiMori2003]."""
