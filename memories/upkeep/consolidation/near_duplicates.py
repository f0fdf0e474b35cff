"""Near-duplicates: which vectors point almost the same way. Pure, always the same, and linear in their number.

Small sets are compared exactly. In larger ones candidates meet in the buckets of random-hyperplane hashes of the
centred vectors (24 tables of at most 16 signs); all 384 signs estimate their angle, and the cosine decides.
"""

import math
from typing import Any

import numpy as np

EXACT = 2048  # up to here a product of all with all is the fastest
TABLES, BITS = 24, 16
WINDOW = 32  # how many neighbours one is compared with in a bucket: what thousands share is no reason to be quadratic
BLOCK, CHUNK = 512, 65_536
DEVIATIONS = 4  # of the estimate, in standard deviations


def find_near_duplicates(vectors: Any, *, floor: float, centre: Any) -> tuple[Any, Any]:
    """Pairs of rows (m × 2, first < second, sorted) whose cosine is above `floor`, and the cosines.

    `vectors`: n × dim, unit length; `centre`: their mean, roughly.
    """
    count = len(vectors)
    codes = _all(vectors, floor) if count <= EXACT else _candidates(vectors, floor, centre)
    left, right = codes // max(count, 1), codes % max(count, 1)
    cosines = np.concatenate(
        [_cosines(vectors, left[at : at + CHUNK], right[at : at + CHUNK]) for at in range(0, len(codes), CHUNK)]
        or [np.zeros(0, np.float32)]
    )
    near = cosines > floor
    return np.stack([left[near], right[near]], axis=1), cosines[near]


def _cosines(vectors: Any, left: Any, right: Any) -> Any:
    one, other = vectors[left].astype(np.float32), vectors[right].astype(np.float32)
    lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    return np.einsum("ij,ij->i", one, other) / lengths


def _all(vectors: Any, floor: float) -> Any:
    """Codes (first · n + second) of all pairs that may be above the floor."""
    whole = vectors.astype(np.float32)
    found = []
    for start in range(0, len(whole), BLOCK):
        rows, columns = np.nonzero(whole[start : start + BLOCK] @ whole.T > floor - 0.01)
        rows = rows + start
        found.append((rows * len(whole) + columns)[rows < columns])
    return np.concatenate(found) if found else np.zeros(0, np.int64)


def _candidates(vectors: Any, floor: float, centre: Any) -> Any:
    signs = _signs(vectors, centre)
    keys = signs.view(np.uint16)
    bits = min(BITS, int(math.log2(len(vectors))))
    mask = np.uint16((1 << bits) - 1)
    most = _most_differing(floor)
    words = signs.view(np.uint64)
    found = [_table(keys[:, t] & mask, keys[:, (t + 1) % TABLES], words, most) for t in range(TABLES)]
    return np.unique(np.concatenate(found))


def _signs(vectors: Any, centre: Any) -> Any:
    """On which side of 384 planes each vector lies: n × 48 bytes."""
    planes = np.random.default_rng(0).standard_normal((vectors.shape[1], TABLES * BITS)).astype(np.float32)
    sides = np.empty((len(vectors), TABLES * BITS // 8), np.uint8)
    for start in range(0, len(vectors), CHUNK):
        centred = vectors[start : start + CHUNK].astype(np.float32) - centre
        sides[start : start + CHUNK] = np.packbits(centred @ planes > 0, axis=1)
    return sides


def _most_differing(floor: float) -> int:
    """Return how many signs those may differ in whose cosine is at the floor."""
    share = math.acos(min(1.0, floor)) / math.pi
    number = TABLES * BITS
    return math.ceil(number * share + DEVIATIONS * math.sqrt(number * share * (1 - share)))


def _table(keys: Any, order_by: Any, words: Any, most: int) -> Any:
    """Codes of the pairs that share a bucket and differ in few signs."""
    count = len(keys)
    order = np.lexsort((order_by, keys))
    sorted_keys, sorted_words = keys[order], words[order]  # neighbours lie beside each other: no jumps in memory below
    found = []
    for step in range(1, min(WINDOW, count - 1) + 1):
        places = np.nonzero(sorted_keys[step:] == sorted_keys[:-step])[0]
        if not len(places):
            break
        places = places[_differing(sorted_words[places], sorted_words[places + step]) <= most]
        one, other = order[places], order[places + step]
        found.append(np.minimum(one, other) * count + np.maximum(one, other))
    return np.concatenate(found) if found else np.zeros(0, np.int64)


def _differing(one: Any, other: Any) -> Any:
    return np.bitwise_count(one ^ other).sum(axis=1, dtype=np.uint16)
