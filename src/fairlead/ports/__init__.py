"""Protocols that stores implement, one in each file, with the rules that every implementation keeps. No code."""
