"""Doors for clients of other memory systems: what they send is understood as what the API knows."""
