"""Attributes of operations by which one pass tells later ones what it knows."""

CALL = "shardc.call"
"""The calls that an operation was in before it was put in their place: `layer#0`, the outermost first."""

GROUP = "shardc.group"
"""Operations with one such note are printed as one call of a function: `softmax#1/7`, its name, a number,
and how many operations there were."""

LAYER = "shardc.layer"
"""Of which layer an operation is: stack, stretch, step and layer, or several such."""

NUMBERS = -1
"""There the stretch of constants of which each layer has its own (rewrite/folding/numbers.py)."""

TIMES = "shardc.times"
"""How many operations one stands for, where equal layers have been taken out."""

FORM = "shardc.form"
"""How an operation runs on blocks, where that is not the plain form."""

GLOBAL = "shardc.global"
"""The global types of an operation's results, as text."""

PARTIAL_OVER = "shardc.partial_over"
"""The operation's local results are partial results: the axes over which, as text (`x` or `x:(pre)size`)."""

PARTIAL_KIND = "shardc.partial_kind"
"""The kind (sum, max, min) of the operation's partial results, where the program declares it."""

EFFECT = "shardc.effect"
"""What a called function runs calls the host or shows something, and stays if nothing uses its results."""

TOGETHER = "shardc.together"
"""On a collective: it is sent in one go with the one before it, of the same kind over the same axes."""

BACKWARD = "shardc.backward"
"""On a reduction over devices: it is of a backward pass, where what devices have alike is summed."""

RELEASE = "shardc.release"
"""On an operation: its result is not kept after its last use."""

AT_ONCE = "shardc.at_once"
"""On a change of layout: the one collective that it is, whatever sends fewer bytes."""

REASON = "shardc.reason"
"""Why a collective or a change of layout is there, as its comment says it."""
