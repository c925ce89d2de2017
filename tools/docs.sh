#!/usr/bin/env bash
# The manual as a site in out/docs. `make docs` calls this; fails on a broken link and on a key without a description.
set -euo pipefail
cd "$(dirname "$0")/.."
.venv/bin/python tools/reference.py
# As tools/lint.sh makes them, so that either takes what the other has made.
RUSTDOCFLAGS="-D warnings" cargo doc --no-deps --document-private-items --locked --quiet
rm -rf out/docs
.venv/bin/sphinx-build --fail-on-warning --keep-going --quiet --builder html docs out/docs --doctree-dir out/doctrees
cp -r target/doc out/docs/rust
if [ -e out/playground/playground.html ]; then
  cp out/playground/playground.html out/docs/
else
  echo '<!doctype html><html lang="en"><meta charset="utf-8"><title>playground</title><p>This manual was built without the playground: <code>make playground</code> names what was missing.' >out/docs/playground.html
fi
.venv/bin/python tools/links.py out/docs
