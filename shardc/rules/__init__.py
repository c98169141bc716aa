"""Factor rules: how the dimensions of an operation's operands and results correspond."""

from shardc.rules.rule import Dims, Factor, FactorRule, Kind

__all__ = ["Dims", "Factor", "FactorRule", "Kind"]
