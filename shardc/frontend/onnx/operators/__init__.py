"""One small function per operator: Node -> the tensors of its outputs."""
