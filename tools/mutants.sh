#!/usr/bin/env bash
# Small faults, one at a time, in the code that makes statistics and verdicts: how many the tests find. mutmut makes
# them and runs the tests, in a copy of the tree (out/mutants), and lists those that no test finds.
#
#   mutants.sh [PATTERN ...]   all, or those whose names match, such as 'airlane.verdict.*'
set -euo pipefail
cd "$(dirname "$0")/.."
least_percent=90
copy=out/mutants
mkdir -p "$copy"
for part in tests tools scenarios docs bench pyproject.toml README.md Makefile; do
  rm -rf "${copy:?}/$part"
  cp -r "$part" "$copy/$part"
done
# Where mutmut looks for a package: it names mutants by their place below `src`.
rm -rf "$copy/src"
cp -r python "$copy/src"
cat >> "$copy/pyproject.toml" <<'TOML'

[tool.mutmut]
source_paths = ["src"]
only_mutate = [
  "src/airlane/verdict.py",
  "src/airlane/stats.py",
  "src/airlane/power.py",
  "src/airlane/multiple.py",
  "src/airlane/survival.py",
  "src/airlane/figures.py",
  "src/airlane/metrics.py",
  "src/airlane/papers/common.py",
]
also_copy = ["src", "tests", "tools", "scenarios", "docs", "README.md", "Makefile"]
pytest_add_cli_args = ["-p", "no:cacheprovider", "-o", "addopts=", "-o", "pythonpath=tools src"]
pytest_add_cli_args_test_selection = [
  "tests/test_verdict.py",
  "tests/test_stats.py",
  "tests/test_scales.py",
  "tests/test_judgements.py",
  "tests/test_power.py",
  "tests/test_figures.py",
  "tests/test_metrics.py",
  "tests/test_times.py",
  "tests/test_common.py",
  "tests/test_published.py",
]
TOML
# mutmut forks; threads of a linear algebra library do not survive that.
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
mutmut="$PWD/.venv/bin/mutmut"
cd "$copy"
"$mutmut" run "$@"
"$mutmut" results
"$mutmut" export-cicd-stats
../../.venv/bin/python - "$least_percent" <<'PY'
import json, sys
from pathlib import Path

found = json.loads(Path("mutants/mutmut-cicd-stats.json").read_text())
killed, made = found["killed"] + found.get("timeout", 0), found["total"] - found.get("skipped", 0)
percent = 100 * killed / made
print(f"mutants: {killed} of {made} found, {percent:.1f} %")
sys.exit(percent < int(sys.argv[1]))
PY
