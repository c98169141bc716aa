"""The commands shardc, shardc-opt and shardc-layout."""
