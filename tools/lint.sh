#!/usr/bin/env bash
# Every check that needs no test run. `make lint` calls this; the environment in .venv must exist.
set -euo pipefail
cd "$(dirname "$0")/.."
say() { printf '\n== %s\n' "$*"; }

say rustfmt
cargo fmt --all --check
say clippy
cargo clippy --workspace --all-targets --locked --quiet -- -D warnings
say rustdoc
RUSTDOCFLAGS="-D warnings" cargo doc --no-deps --document-private-items --locked --quiet
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
printf '\nlint: ok\n'
