"""Shardy's passes by Shardy's names, for command lines and tests that were written for its own tool."""
