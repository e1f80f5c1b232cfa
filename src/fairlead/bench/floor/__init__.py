"""The bare SQL loop: what the store itself can do with jobs, without any of our model or features."""
