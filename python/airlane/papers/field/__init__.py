"""HyStart++, SEARCH and C4, each compared with its publication."""
