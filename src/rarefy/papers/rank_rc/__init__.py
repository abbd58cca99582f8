"""Rare class ranking with kernels [TayalColemanLi2015], as in chapters 4 to 6 of Tayal's thesis."""
