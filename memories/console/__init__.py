"""The console's door: pages for people, one URL per state, working without JavaScript."""
