"""What a selection preserves, in numbers: measured, and measured again by independent code."""
