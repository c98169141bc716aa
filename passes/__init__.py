"""The compiler's passes, one file each, named as on the command line."""
