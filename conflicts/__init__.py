"""Deciding what is believed. Rooms enter through `conflicts.public`; everything behind it is private."""
