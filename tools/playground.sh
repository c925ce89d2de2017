#!/usr/bin/env bash
# The simulator for browsers, in out/playground. `make playground` calls this.
set -euo pipefail
cd "$(dirname "$0")/.."

missing() { echo "make playground needs $1: $2" >&2; exit 1; }
cargo --version >/dev/null 2>&1 || missing "stable Rust" "https://rustup.rs"
rustc --print target-libdir --target wasm32-unknown-unknown 2>/dev/null | xargs -r test -d ||
  missing "Rust's target for WebAssembly" "rustup target add wasm32-unknown-unknown"
# ring's C is compiled for WebAssembly too, which GCC cannot do.
clang --print-targets 2>/dev/null | grep -q wasm32 || missing "clang with the target wasm32" "apt-get install clang"
command -v node >/dev/null || missing "Node >= 20" "https://nodejs.org"
node -e 'process.exit(Number(process.versions.node.split(".")[0]) >= 20 ? 0 : 1)' || missing "Node >= 20, not $(node --version)" "https://nodejs.org"

target="${CARGO_TARGET_DIR:-target}"
out=out/playground
mkdir -p "$out"
CC_wasm32_unknown_unknown=clang cargo build --locked --quiet --package airlane-web --profile web --target wasm32-unknown-unknown
cargo run --locked --quiet --package airlane-bind --features bind -- "$target/wasm32-unknown-unknown/web/airlane_web.wasm" "$out/module"
ls -l "$out/module"
