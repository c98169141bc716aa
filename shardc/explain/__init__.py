"""Diagnostics, provenance, reports."""
