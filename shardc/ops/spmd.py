"""The operations of per-device code, under their own names."""

from shardc.ops.collective.all_gather import all_gather as all_gather
from shardc.ops.collective.all_reduce import all_reduce as all_reduce
from shardc.ops.collective.all_slice import all_slice as all_slice
from shardc.ops.collective.all_to_all import all_to_all as all_to_all
from shardc.ops.collective.collective_broadcast import collective_broadcast as collective_broadcast
from shardc.ops.collective.collective_permute import collective_permute as collective_permute
from shardc.ops.collective.device import assume_equal as assume_equal
from shardc.ops.collective.device import axis_index as axis_index
from shardc.ops.collective.device import vary as vary
from shardc.ops.collective.partial import as_partial as as_partial
from shardc.ops.collective.partial import to_partial as to_partial
from shardc.ops.collective.ragged_all_to_all import ragged_all_to_all as ragged_all_to_all
from shardc.ops.collective.reduce_scatter import reduce_scatter as reduce_scatter
from shardc.ops.collective.show import print_ as print_
