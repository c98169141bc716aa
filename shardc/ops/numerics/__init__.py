"""Factorisations, Fourier transforms, normalisation and random bits: one file each."""
