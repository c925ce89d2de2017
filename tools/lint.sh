#!/usr/bin/env bash
# Every check that needs no test run. `make lint` calls this; the environment in .venv must exist.
set -euo pipefail
cd "$(dirname "$0")/.."
say() { printf '\n== %s\n' "$*"; }

in_python() {
  say ruff
  .venv/bin/ruff check python tests tools bench evidence docs/*.py
  .venv/bin/ruff format --check python tests tools bench evidence docs/*.py
  say mypy
  .venv/bin/mypy
  say "crate edges"
  .venv/bin/python tools/edges.py
  say tidy
  .venv/bin/python tools/tidy.py
  say prose
  .venv/bin/python tools/prose.py
}

# Beside the compiler, which keeps one core busy while a crate waits for another.
said=$(mktemp)
(in_python) >"$said" 2>&1 &
python=$!
trap 'kill "$python" 2>/dev/null || true; rm -f "$said"' EXIT
say rustfmt
cargo fmt --all --check
say clippy
cargo clippy --workspace --all-targets --locked --quiet -- -D warnings
say rustdoc
RUSTDOCFLAGS="-D warnings" cargo doc --no-deps --document-private-items --locked --quiet
status=0
wait "$python" || status=$?
cat "$said"
[ "$status" -eq 0 ] || exit "$status"
printf '\nlint: ok\n'
