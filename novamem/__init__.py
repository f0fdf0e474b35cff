"""Wiring only: settings, the embedded database, the web and worker entry points."""
