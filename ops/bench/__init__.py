"""Measuring a memory server from outside, over the HTTP contract; nothing here is shipped."""
