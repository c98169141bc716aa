"""Other people's ways to write a sharding, a file each."""
