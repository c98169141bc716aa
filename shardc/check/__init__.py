"""The varying/partial type check, and equivalence to the global program."""
