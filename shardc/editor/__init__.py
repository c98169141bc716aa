"""What an editor asks of a program while it is written: its errors, names, types, layouts and costs.

Texts may be wrong or half-written. `server` speaks the language server protocol.
"""
