"""Deciding what is believed. Rooms enter through `conflicts.front`; everything behind it is private."""
