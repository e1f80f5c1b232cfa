"""The databases behind the store port."""
