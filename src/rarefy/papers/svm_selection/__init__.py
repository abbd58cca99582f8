"""Feature selection for linear SVM with provable guarantees [PaulMagdonIsmailDrineas2015]."""
