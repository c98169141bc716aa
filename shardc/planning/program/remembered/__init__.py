"""Plans that were found before, of the same program or of one whose layers all are alike.

`improved` is the way in: it looks a plan up, and else searches (search/improve.py).
"""
