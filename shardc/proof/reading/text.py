"""prove_text(whole, text, target): whether the program that an emitted text runs equals the global one.

The text is read back (numpy_text.py, jax_text.py): its functions run once, at full size, without data, and
what they do is one program with per-device code. That takes the local program's place in the proof.
"""

from __future__ import annotations

from shardc.graph import Graph
from shardc.proof.prove import Proof, Verdict, prove, prove_by_calls
from shardc.proof.reading.readers import reader
from shardc.proof.values import Beyond, Refused, Unfit


def prove_text(whole: Graph, text: str, target: str, local: Graph | None = None) -> Proof:
    """The proof of a text of one of readers.READ instead of the local program that it was emitted for.

    Where that is given, which is to be proved equal to the global one, and both call the same functions,
    it is enough that the text is equal to it.

    A text that does not run, or that gives arrays of other types, differs.
    """
    try:
        read = reader(target)(text, whole)
    except Beyond as error:
        return Proof(Verdict.NOT_PROVED, f"{error} are beyond what is read back")
    except Unfit as error:
        return Proof(Verdict.NOT_PROVED, f"the emitted text does not fit: {error}", unfit=True)
    except (Refused, SyntaxError) as error:
        return Proof(Verdict.DIFFERS, f"the emitted text does not run: {error}")
    for does, types, wanted in (
        ("takes", read.types(read.main.body.args), whole.types(whole.main.body.args)),
        ("gives", read.types(read.main.body.results), whole.types(whole.main.body.results)),
    ):
        if types != wanted:
            have, asked = (", ".join(map(str, found)) for found in (types, wanted))
            return Proof(Verdict.DIFFERS, f"the emitted text {does} {have} in place of {asked}")
    found = None if local is None else prove_by_calls(local, read)
    return found or prove(whole, read)
