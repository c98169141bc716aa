"""From sharding A to sharding B, and which operation computes where: cost and search."""
