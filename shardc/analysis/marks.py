"""Attributes of operations by which one pass tells later ones what it knows."""

PARTIAL_OVER = "shardc.partial_over"
"""The operation's local results are partial results: the axes over which, as text (`x` or `x:(pre)size`)."""

PARTIAL_KIND = "shardc.partial_kind"
"""The kind (sum, max, min) of the operation's partial results, where the program declares it."""

EFFECT = "shardc.effect"
"""What a called function runs calls the host or shows something, and stays if nothing uses its results."""

TOGETHER = "shardc.together"
"""On a collective: it is sent in one go with the one before it, of the same kind over the same axes."""

REASON = "shardc.reason"
"""Why a collective or a change of layout is there, as its comment says it."""
