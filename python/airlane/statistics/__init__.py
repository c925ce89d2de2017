"""Statistics beyond means and intervals: power, multiple comparisons, censored times."""
