#!/usr/bin/env bash
# The manual as a site in out/docs. `make docs` calls this; fails on a broken link and on a key without a description.
set -euo pipefail
cd "$(dirname "$0")/.."
.venv/bin/python tools/reference.py
# As tools/lint.sh makes them, so that either takes what the other has made.
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --document-private-items --locked --quiet
rm -rf out/docs
.venv/bin/sphinx-build --fail-on-warning --keep-going --quiet --builder html docs out/docs --doctree-dir out/doctrees
cp -r target/doc out/docs/rust
.venv/bin/python tools/links.py out/docs
