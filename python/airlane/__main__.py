"""`python -m airlane` is the command `airlane`."""

from airlane.commands.main import main

if __name__ == "__main__":
    main()
