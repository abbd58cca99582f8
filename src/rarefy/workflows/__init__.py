"""From a table of one's own to a fitted pipeline, its certificate, and files that hold them."""
