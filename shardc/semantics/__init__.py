"""What each operation computes, in NumPy."""
