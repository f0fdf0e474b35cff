"""This instance's Ed25519 key: made on first use, kept in the data directory, outside the database."""

import hashlib
import os
from functools import cache
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from django.conf import settings


def key_path() -> Path:
    """Return where the private key lies."""
    return Path(settings.DATA_DIR) / "keys" / "instance.ed25519"


@cache
def _private(path: Path) -> Ed25519PrivateKey:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return Ed25519PrivateKey.from_private_bytes(path.read_bytes())
    fresh = Ed25519PrivateKey.generate()
    with os.fdopen(handle, "wb") as file:
        file.write(fresh.private_bytes_raw())
    return fresh


def public_key() -> bytes:
    """Return the 32 bytes of the public key."""
    return _private(key_path()).public_key().public_bytes_raw()


def fingerprint(key: bytes | None = None) -> str:
    """Return a public key's SHA-256 in hexadecimal, the name of that signer; without a key that of this instance."""
    return hashlib.sha256(key or public_key()).hexdigest()


def sign(message: bytes, *, purpose: str, key: Ed25519PrivateKey | None = None) -> bytes:
    """Return a 64-byte Ed25519 signature by this key, without one by this instance.

    Good for this purpose only: what is signed as a seal is no signed backup.
    """
    return (key or _private(key_path())).sign(_labelled(message, purpose))


def is_signed(message: bytes, signature: bytes, *, purpose: str, key: bytes | None = None) -> bool:
    """Return whether the holder of this public key, without one this instance, signed the message for this purpose."""
    try:
        Ed25519PublicKey.from_public_bytes(key or public_key()).verify(signature, _labelled(message, purpose))
    except InvalidSignature:
        return False
    return True


def _labelled(message: bytes, purpose: str) -> bytes:
    return f"novamem {purpose}\0".encode() + message
