"""Runs: settings, sweeps and their tasks, caches, selections of flows, figures of results."""
