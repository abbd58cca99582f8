"""Feature selection for ridge regression with provable guarantees [PaulDrineas2016]."""
