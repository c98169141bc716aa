"""Rewrites of the IR that passes are made of: each is a function of a module, and no pass by itself."""
