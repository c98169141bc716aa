"""The idioms: what a person writes as one expression, as operations that only a backend's programs have.

`folding` makes them from runs of nodes, printers are attached to them, and nothing else knows them: they have
no types of their own, no rule and no meaning.
"""

from __future__ import annotations

from shardc.ops import OpDef, Spelling


def _idiom(name: str, doc: str, variable: str = "t") -> OpDef:
    return OpDef(name=f"idiom.{name}", doc=doc, spelling=Spelling(variable=variable))


argmax = _idiom(
    "argmax",
    "Where the greatest along `axis` is, as the result's dtype.",
)
argmin = _idiom("argmin", "Where the least along `axis` is, as the result's dtype.")
argsort = _idiom("argsort", "Where what is n-th along `axis` was, equals in their order.", variable="order")
bincount = _idiom("bincount", "How often each number below `length` occurs; negative ones are zeros.")
cholesky = _idiom(
    "cholesky",
    "The lower triangular factor, NaN where there is none; `symmetrizes`: of x and its transpose's mean.",
    variable="factor",
)
cipher = _idiom("cipher", "threefry2x32 of a key's two words and two words at each place.", variable="bits")
clip = _idiom("clip", "x, not below the second operand and not above the third.")
drawn = _idiom(
    "drawn",
    "What the function `kind` of jax.random gives for a key: of an array of a `shape`, whose dimensions mesh "
    "axes `split`, the block of this device.",
    variable="drawn",
)
elements = _idiom(
    "elements",
    "Slices at an index of each of several dimensions, of `rank` dimensions, which are clamped, and of which "
    "negative ones count from the end where it `wraps`; `at` says what stands for each dimension "
    "(library_elements.Entry).",
    variable="rows",
)
einsum = _idiom(
    "einsum",
    "A dot_general whose result's dimensions are in another order, `permutation`.",
    variable="product",
)
exchanged = _idiom(
    "exchanged",
    "What each of the all-to-alls `parts` gives, which are sent as one, of a stack of their operands.",
    variable="exchanged",
)
eye = _idiom("eye", "Ones where the column is the row plus `diagonal`, of the result's dtype.")
factors = _idiom(
    "factors",
    "What a `routine` of LAPACK finds, NaN where it finds none; `symmetrizes` as `cholesky` does; `called`: "
    "what each result is.",
    variable="factor",
)
floor_divide = _idiom("floor_divide", "Python's // of integers by what is positive.")
floored = _idiom("floored", "Python's // of integers, whatever the signs.")
permutation = _idiom(
    "permutation", "Of `size` rows, that which the pivots of an LU factorisation say.", variable="permutation"
)
place_of_greatest = _idiom(
    "place_of_greatest", "Where the greatest along `axis` is, from the number on that is the second operand."
)
place_of_least = _idiom("place_of_least", "The same of the least.")
greatest = _idiom(
    "greatest",
    "The greatest along `axis`, and where it is from the number on that is the second operand.",
    variable="greatest",
)
isnan = _idiom("isnan", "Whether an element is no number.")
item = _idiom("item", "What stands at the places `at` (dimension, number) along some dimensions, which go.")
keepdims = _idiom("keepdims", "A reduction whose dimensions stay, of size 1.", variable="reduced")
layer = _idiom(
    "layer", "stack[i] along the dimension `axis`; `counter`: i stays inside; `from_end`: as of `sliced`."
)
least = _idiom("least", "The least along `axis`, and where it is in the same way.", variable="least")
linspace = _idiom(
    "linspace", "Numbers at equal distances from the first operand on, the last of which is the second."
)
logaddexp = _idiom("logaddexp", "The logarithm of the sum of the powers of both.")
logsumexp = _idiom("logsumexp", "The logarithm of the sum of powers along `dimensions`.")
modulo = _idiom("modulo", "Python's % of integers where it is the same in all languages.")
one_hot = _idiom("one_hot", "A new last dimension of `classes`, one where the index is the class.")
pulled_back = _idiom(
    "pulled_back",
    "What the backward pass of the group `function` at the first operand makes of the second; the other "
    "attributes are the group's.",
    variable="pulled",
)
put = _idiom(
    "put",
    "x with slices along `axis` combined with others by `kind`; negative indices count from the end where it "
    "`wraps`, and those beyond do nothing; `column`: they have a dimension of size 1.",
)
put_elements = _idiom(
    "put_elements",
    "x with slices at such indices combined with others by `kind`; those that are not there do nothing.",
)
put_layer = _idiom("put_layer", "A stack with its part i along the first dimension replaced.")
put_slices = _idiom(
    "put_slices",
    "x combined by `kind` with what stands from one place on; `at` has place, size and whole size of each "
    "dimension, size 0 for one that goes.",
)
remainder = _idiom("remainder", "Python's %, whatever the signs.")
repeat = _idiom("repeat", "Each slice along `axis` `count` times, one behind the other.")
roll = _idiom("roll", "Elements `shift` further along `axis`, around its end.")
rounded = _idiom(
    "rounded",
    "The `function` sum, mean or var of narrow floats along `dimensions`, in f32 and then rounded, as "
    "jax.numpy has it.",
)
same = _idiom("same", "The operand.")
searchsorted = _idiom(
    "searchsorted",
    "Where the second operand's numbers would go in the sorted first one, on the `side` of equal ones.",
    variable="places",
)
sigmoid = _idiom("sigmoid", "1 / (1 + exp(-x)).")
sliced = _idiom(
    "sliced",
    "A dynamic slice; `from_end`: which starts count from the end if negative, or are never negative.",
    variable="part",
)
solution = _idiom(
    "solution",
    "The matrix that a square one, the first operand, times it is the second.",
    variable="solution",
)
sliced_each = _idiom(
    "sliced_each",
    "Windows of `sizes` of rows, whose starts along the dimensions `cut` are operands after them; rows stand "
    "in as many first dimensions as `rows` says, starts in `maps`; `from_end`: as of `sliced`.",
    variable="windows",
)
stack = _idiom("stack", "Arrays side by side along a new dimension `axis`.", variable="stack")
take = _idiom(
    "take",
    "Slices along `axis` by indices, which are clamped; `column`: they have a dimension of size 1.",
    variable="rows",
)
take_along = _idiom(
    "take_along", "Elements by indices along `axis`, beside which dimensions agree; `mode` is JAX's."
)
take_filled = _idiom(
    "take_filled",
    "Slices along `axis` by indices, of which negative ones count from the end; NaN where there is none.",
    variable="rows",
)
tile = _idiom("tile", "The array `count` times along `axis`.")
updated = _idiom("updated", "A dynamic update; `from_end`: as of `sliced`.")
updated_each = _idiom(
    "updated_each", "Rows with windows replaced by the second operand's, at starts as of `sliced_each`."
)
var = _idiom("var", "The mean of squared differences from the mean along `dimensions`.")

VARIABLES = {
    definition.name: definition.spelling.variable
    for definition in (
        argsort,
        cholesky,
        cipher,
        drawn,
        einsum,
        elements,
        exchanged,
        factors,
        greatest,
        keepdims,
        least,
        permutation,
        pulled_back,
        searchsorted,
        sliced,
        sliced_each,
        solution,
        stack,
        take,
        take_filled,
    )
}
"""What a result is called that has no name in the source, for the idioms that say it."""
