"""What follows from factor rules: shardings of operands and results, signatures, what must stay apart."""
