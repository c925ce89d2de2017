"""Studies: experiments in sequence, verdicts on published numbers, comparisons of runs."""
