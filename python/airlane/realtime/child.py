"""The process that becomes the network of a live run; `process.py` starts it as a script.

It imports nothing but the compiled core, because namespaces of users need a process with one thread.
"""

import importlib.machinery
import importlib.util
import json
import os
import pickle
import sys
from typing import Any


def _core(path: str) -> Any:
    """The compiled core, without the package around it."""
    loader = importlib.machinery.ExtensionFileLoader("airlane._native", path)
    spec = importlib.util.spec_from_loader("airlane._native", loader)
    if spec is None:
        raise ImportError(path)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def main() -> None:
    """Make the run that the file descriptor describes, and write its results to the other one."""
    config, results = (int(argument) for argument in sys.argv[1:3])
    with os.fdopen(config, encoding="utf-8") as file:
        told = json.load(file)
    core = _core(told.pop("core_path"))
    outcome: dict[str, Any]
    try:
        tables, meta, live = core.live(json.dumps(told))
    except core.LiveError as error:
        outcome = {"error": str(error)}
    else:
        outcome = {"tables": tables, "meta": json.loads(meta), "live": json.loads(live)}
    with os.fdopen(results, "wb") as file:
        pickle.dump(outcome, file)
    os._exit(2 if "error" in outcome else 0)


if __name__ == "__main__":
    main()
