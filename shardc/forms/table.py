"""The local forms of an operation.

Each is attached where it is built (registry.py). The files that do so are imported here, in the order in
which an operation's forms are tried.
"""

from __future__ import annotations

from shardc.forms import creation, dynamic, indexing, movement, plain, reductions, sliding, unpooling
from shardc.forms.registry import FORMS, PLAIN, After, Form

__all__ = ["BUILDERS", "After", "Form", "form_named", "forms_of"]

BUILDERS = (creation, dynamic, indexing, movement, plain, reductions, sliding, unpooling)
"""The files that attach forms."""


def forms_of(op_name: str) -> tuple[Form, ...]:
    """All forms of an operation, the plain one first."""
    return (Form("plain", PLAIN.get(op_name, plain.plain)), *FORMS.get(op_name, ()))


def form_named(op_name: str, name: str) -> Form:
    """The form of that name; KeyError if the operation has none such."""
    for form in forms_of(op_name):
        if form.name == name:
            return form
    raise KeyError(f"{op_name} has no local form {name}")
