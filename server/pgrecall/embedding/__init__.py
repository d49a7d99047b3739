"""Texts to vectors: one protocol, several backends."""
