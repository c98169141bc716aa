"""The operations of functions, under their own names."""

from shardc.ops.calls import call as call
from shardc.ops.calls import return_ as return_
