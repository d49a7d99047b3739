"""Dates said in words: found in a text, resolved against the day on which it was said, written beside it."""
