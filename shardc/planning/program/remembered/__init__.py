"""Plans that were found before, of the same program.

`improved` is the way in: it looks a plan up, and else searches (search/improve.py).
"""
