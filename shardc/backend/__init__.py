"""From a per-device program to the Python text a careful engineer would have written."""
