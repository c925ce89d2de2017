"""HyStart++, SEARCH, C4, Verus and PBE-CC, each compared with its publication."""
