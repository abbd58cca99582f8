"""Support vector machines: with norms, with squared norms, and the geometry of hard margins."""
