"""shardc --prove: compile, prove, say so."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct
from xdsl.dialects.builtin import ModuleOp

from shardc.compilation import emit, lower
from shardc.dialects.snapshot import snapshot
from shardc.dialects.text import print_module
from shardc.graph import Graph
from shardc.options import Options
from shardc.proof.certificate import LOCAL, certificate
from shardc.proof.prove import Verdict, prove
from shardc.proof.reading.readers import READ
from shardc.proof.reading.text import prove_text
from shardc.proof.report import lines

Write = Callable[[str], None]


class Judged(Struct):
    """The local program, and the emitted text where that was read back.

    fails: whether it is not to be used.
    """

    local: Graph
    text: str | None = None
    fails: bool = False


def prove_module(
    module: ModuleOp, options: Options, write: Write | None = None, against: ModuleOp | None = None
) -> Judged:
    """Compile a module of stage ir, prove what comes out, print the report.

    The global program is `against`, by default the module itself. Where the target's text can be read back
    (readers.READ) it is proved too, and has a line of its own. `write` gets the certificate, which holds for
    the texts that --emit ir (of the global program) and --emit local print, and for the emitted text.
    """
    reference = module if against is None else against
    whole = snapshot(reference).graph
    first = print_module(reference) if write else ""
    local = lower(module, options)
    printed = print_module(module) if write else ""
    judged = Judged(local)
    proofs = [(prove(whole, local), (first, printed), LOCAL)]
    print("\n".join(lines(proofs[0][0])), flush=True)
    if options.target in READ:
        text = judged.text = emit(local, options.target, options.process_data, options.comments)
        by = local if proofs[0][0].verdict is Verdict.PROVED else None
        proof = prove_text(whole, text, options.target, by)
        proofs.append((proof, (printed if proof.as_local else first, text), options.target))
        print("\n".join([f"the emitted {READ[options.target]} text, read back:", *lines(proofs[1][0])]))
    proved = [each for each in proofs if each[0].verdict is Verdict.PROVED]
    if write is not None and proved:
        write(certificate(*proved))
    judged.fails = any(proof.fails for proof, _, _ in proofs)
    return judged
