#!/usr/bin/env bash
# Tests of what airlane does with other packages, where those or Python are of other versions. The wheel that
# `make wheel` left in dist/ is installed into a fresh environment, which is gone afterwards.
#
#   check_versions.sh least     the least versions that pyproject.toml declares, with the least Python
#   check_versions.sh newest    the newest versions that it admits, with the newest Python that is here
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "check_versions: $*" >&2; exit 1; }

# The newest python3.N, N >= 12, of PATH and of pyenv.
newest_python() {
  local minor found
  for minor in 15 14 13 12; do
    for found in "$(command -v "python3.$minor" || true)" "$HOME"/.pyenv/versions/3."$minor".*/bin/python3; do
      if [ -x "$found" ] && "$found" -c 'import venv, ensurepip' 2>/dev/null; then echo "$found"; return; fi
    done
  done
}

case ${1:-} in
  least) python=${PYTHON:-python3} how=--least ;;
  newest) python=$(newest_python) how= ;;
  *) fail "say least or newest" ;;
esac
if [ -z "$python" ]; then
  printf '\n*** SKIPPED: no Python of 3.12 or newer is on this machine; airlane is not tested on a second one ***\n\n' >&2
  exit 0
fi
shopt -s nullglob
wheels=(dist/airlane-*.whl)
[ ${#wheels[@]} -eq 1 ] || fail "dist/ should hold one wheel: make wheel"

"$python" -m venv "$work/venv"
if command -v uv >/dev/null; then
  pip() { uv pip "$1" --quiet --python "$work/venv/bin/python" "${@:2}"; }
else
  pip() { "$work/venv/bin/python" -m pip --quiet --disable-pip-version-check "$@"; }
fi
"$python" tools/requirements.py $how report tables cluster gym | pip install -r /dev/stdin
pip install pytest
pip install --no-deps "${wheels[0]}"
pip check
"$work/venv/bin/python" --version
# Old packages warn of what newer Pythons deprecate.
"$work/venv/bin/python" -m pytest -q -p no:cacheprovider -o filterwarnings=default \
  tests/test_cli.py tests/test_sweep.py tests/test_cache.py tests/test_gym.py tests/test_chart.py \
  tests/test_extras.py tests/test_completion.py tests/test_stats.py tests/test_reproduction.py
"$work/venv/bin/python" -m pytest -q -p no:cacheprovider -o filterwarnings=default tests/test_dataset.py -k "without_workers"
echo "check_versions $1: ok"
