"""Feature selection inside a kernel SVM [Tayal2014], chapter 7."""
