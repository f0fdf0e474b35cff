"""Vectors in a bundle: 32-bit floats, little-endian, in base64, each of the dimension that it says."""

import base64
import binascii
from typing import Any

import numpy as np

from memories.models.search import LARGEST_DIM

NAMED = {"model", "dim", "vector"}


def fault(record: Any) -> str:
    """Return what is wrong with the vectors of a fragment, empty when nothing is."""
    if type(record) is not list or not record:
        return "vectors is no list"
    if any(type(each) is not dict or each.keys() != NAMED or type(each["model"]) is not str for each in record):
        return "a vector has model, dim and vector"
    if len({each["model"] for each in record}) < len(record):
        return "two vectors of one model"
    return next((found for each in record if (found := _fault(each))), "")


def _fault(record: dict[str, Any]) -> str:
    dim = record["dim"]
    if type(dim) is not int or not 1 <= dim <= LARGEST_DIM:
        return "a vector has no such number of dimensions"
    try:
        numbers = unpacked(record["vector"])
    except (ValueError, TypeError, binascii.Error):
        return "a vector is no base64 of 32-bit floats"
    if len(numbers) != dim:
        return f"a vector has {len(numbers)} dimensions, not {dim}"
    if not np.isfinite(numbers).all():
        return "a vector holds NaN or infinity"
    if not 0.99 <= float(np.linalg.norm(numbers.astype(np.float64))) <= 1.01:
        return "a vector is not of unit length"
    return ""


def unpacked(text: str) -> Any:
    """Return the numbers. Raise ValueError."""
    return np.frombuffer(base64.b64decode(text, validate=True), dtype="<f4")
