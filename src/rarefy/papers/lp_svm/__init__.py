"""Linear programming support vector machines in an extracted subspace [YajimaOhiMori2003]."""
