"""`python -m airlane` is the command `airlane`."""

from airlane.cli import main

main()
