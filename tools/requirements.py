"""Print the dependencies of pyproject.toml, and those of the named extras, one per line for pip.

`pip install .[dev]` would build the extension; lint needs the tools without it. With `--least`, the minimum
version of each.
"""

import sys
import tomllib
from pathlib import Path


def main() -> None:
    """Print them."""
    root = Path(__file__).resolve().parent.parent
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"]]
    extras = [word for word in sys.argv[1:] if word != "--least"]
    for extra in extras:
        wanted += project["optional-dependencies"][extra]
    if "--least" in sys.argv[1:]:
        wanted = [one.replace(">=", "==") for one in wanted]
    print("\n".join(wanted))


if __name__ == "__main__":
    main()
