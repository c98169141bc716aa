"""What a compiled program costs each device: bytes sent, memory, work, and time on a machine."""
