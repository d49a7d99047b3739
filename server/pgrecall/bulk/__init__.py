"""Work on many requests at once: import, export, and facts for what has none."""
