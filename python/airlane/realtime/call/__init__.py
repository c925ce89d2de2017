"""Real video calls in live runs: `airlane call`."""
