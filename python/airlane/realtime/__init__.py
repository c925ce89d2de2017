"""Live runs: real applications through a scenario, in real time."""
