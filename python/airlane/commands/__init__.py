"""The commands of `airlane`: options, output on a terminal, exit codes."""
