"""Adaptive receive windows."""
