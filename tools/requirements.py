"""Print the dependencies of pyproject.toml, and those of the named extras, one per line for pip.

`pip install .[dev]` would build the extension; lint needs the tools without it.
"""

import sys
import tomllib
from pathlib import Path


def main() -> None:
    """Print them."""
    root = Path(__file__).resolve().parent.parent
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"]]
    for extra in sys.argv[1:]:
        wanted += project["optional-dependencies"][extra]
    print("\n".join(wanted))


if __name__ == "__main__":
    main()
