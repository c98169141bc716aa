"""Better plans: by single operations, of the whole program, or along one mesh axis at a time.

`improve` is the way in.
"""
