"""How much memory a written NumPy program takes, from what each of its lines allocates."""
