"""States that change: what of a log replaces what, and which memories a question can do without."""
