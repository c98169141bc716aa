"""Running a program in NumPy: on one device, or on all devices of a mesh in lockstep."""
