"""The language model: facts from what was said, and the question its owner would ask."""
