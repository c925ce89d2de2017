#!/usr/bin/env bash
# Small faults, one at a time, in the code that makes statistics and verdicts: how many the tests find, by module. mutmut
# makes them and runs the tests, in a copy of the tree (out/mutants), and lists those that no test finds. It fails where
# a module has less than 90 %.
#
#   mutants.sh [PATTERN ...]   all, or those whose names match, such as 'airlane.study.verdict.*'
set -euo pipefail
cd "$(dirname "$0")/.."
least_percent=90
copy=out/mutants
rm -rf "$copy" # mutmut would keep results of tests that have changed
mkdir -p "$copy"
for part in tests tools scenarios docs pyproject.toml README.md Makefile; do
  cp -r "$part" "$copy/$part"
done
# Where mutmut looks for a package: it names mutants by their place below `src`.
cp -r python "$copy/src"
cat >> "$copy/pyproject.toml" <<'TOML'

[tool.mutmut]
source_paths = ["src"]
only_mutate = [
  "src/airlane/study/verdict.py",
  "src/airlane/stats.py",
  "src/airlane/statistics/power.py",
  "src/airlane/statistics/multiple.py",
  "src/airlane/statistics/survival.py",
  "src/airlane/runs/figures.py",
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
  "tests/test_multiple.py",
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
../../.venv/bin/python - "$least_percent" <<'PY'
import json, sys
from pathlib import Path

ROOT = Path("mutants/src/airlane")
SURVIVED, NO_TESTS = 0, (5, 33)  # exit codes of pytest as mutmut keeps them; None was not run
least, fell_short = float(sys.argv[1]), False
sums = [0, 0]
for file in sorted(ROOT.rglob("*.py.meta")):
    codes = [code for code in json.loads(file.read_text())["exit_code_by_key"].values() if code is not None]
    if not codes:
        continue
    killed = sum(code not in (SURVIVED, *NO_TESTS) for code in codes)
    percent = 100 * killed / len(codes)
    fell_short |= percent < least
    name = str(file.relative_to(ROOT)).removesuffix(".py.meta")
    print(f"{name:<14} {killed:>4} of {len(codes):>4} found, {percent:.1f} %")
    sums = [sums[0] + killed, sums[1] + len(codes)]
if not sums[1]:
    sys.exit("mutants: none was run")
print(f"{'all':<14} {sums[0]:>4} of {sums[1]:>4} found, {100 * sums[0] / sums[1]:.1f} %")
sys.exit(fell_short)
PY
