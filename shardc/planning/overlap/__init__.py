"""Which collectives products can go on with, and whether that is faster."""
