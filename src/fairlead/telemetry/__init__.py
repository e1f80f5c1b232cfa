"""Typed events from the services, and what becomes of them."""
