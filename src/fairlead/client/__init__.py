"""Submitting jobs and following them."""
