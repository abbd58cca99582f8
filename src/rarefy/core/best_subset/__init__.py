"""The best r columns for a linear model, with a bound that no choice of r columns can beat."""
