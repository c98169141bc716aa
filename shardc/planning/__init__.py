"""Planning: reshard/ changes the layout of one tensor, program/ chooses the layouts of a whole program, and
overlap/ finds collectives that products can hide."""
