"""shardc --prove: compile, prove, say so."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import ModuleOp

from shardc.compilation import emit, lower
from shardc.dialects.snapshot import snapshot
from shardc.dialects.text import print_module
from shardc.options import Options
from shardc.proof.certificate import certificate
from shardc.proof.prove import Verdict, prove
from shardc.proof.reading.text import prove_text
from shardc.proof.report import lines

Write = Callable[[str], None]


def prove_module(
    module: ModuleOp, options: Options, write: Write | None = None, against: ModuleOp | None = None
) -> int:
    """Compile a module of stage ir, prove what comes out, print the report; 1 if the programs differ.

    The global program is `against`, by default the module itself. `write` gets the certificate, which holds
    for the texts that --emit ir (of the global program) and --emit local print. For the target numpy the
    emitted text is proved too, and has a line of its own.
    """
    reference = module.clone() if against is None else against
    texts = [print_module(reference)]
    whole = snapshot(reference).graph
    local = lower(module, options)
    texts.append(print_module(module))
    proof = prove(whole, local)
    print("\n".join(lines(proof)))
    if write is not None and proof.verdict is Verdict.PROVED:
        write(certificate(proof, texts))
    verdicts = [proof.verdict]
    if options.target == "numpy":
        of_text = prove_text(whole, emit(local, options.target))
        print("\n".join(["the emitted NumPy text, read back:", *lines(of_text)]))
        verdicts.append(of_text.verdict)
    return int(Verdict.DIFFERS in verdicts)
