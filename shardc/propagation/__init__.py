"""From a few annotated tensors to a sharding for every tensor."""
