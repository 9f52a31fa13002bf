"""Runs: what is to be run, running it on many cores or machines, keeping it, and when to stop."""
