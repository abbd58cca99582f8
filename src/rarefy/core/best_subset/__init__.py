"""The best r columns for a linear machine, with a bound that no choice of r columns can beat."""
