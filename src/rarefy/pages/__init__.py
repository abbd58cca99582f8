"""Results as self-contained HTML with pictures."""
