"""Feature selection inside a kernel support vector machine [Tayal2014], chapter 7."""
