"""`python -m airlane` is the command `airlane`."""

from airlane.cli import main

if __name__ == "__main__":
    main()
