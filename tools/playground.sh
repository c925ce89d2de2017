#!/usr/bin/env bash
# The playground: the simulator and its page as one file. `make playground` calls this.
#
#   tools/playground.sh           builds out/playground/playground.html, and copies it into the package
#   tools/playground.sh --check   says what is missing on this machine, if anything is
set -euo pipefail
cd "$(dirname "$0")/.."

missing() { echo "the playground needs $1: $2" >&2; exit 1; }
cargo --version >/dev/null 2>&1 || missing "stable Rust" "https://rustup.rs"
libraries=$(rustc --print target-libdir --target wasm32-unknown-unknown 2>/dev/null || true)
[ -d "$libraries" ] || missing "Rust's target for WebAssembly" "rustup target add wasm32-unknown-unknown"
# ring contains C, and GCC does not compile for WebAssembly.
clang=${CC_wasm32_unknown_unknown:-clang}
echo 'int x;' | "$clang" --target=wasm32-unknown-unknown -x c -c -o /dev/null - 2>/dev/null ||
  missing "clang with the target wasm32" "apt-get install clang"
node -e 'process.exit(Number(process.versions.node.split(".")[0]) >= 20 ? 0 : 1)' 2>/dev/null ||
  missing "Node >= 20" "https://nodejs.org"
command -v npm >/dev/null || missing "npm" "https://nodejs.org"
[ "${1:-}" != --check ] || exit 0

out=out/playground
target="${CARGO_TARGET_DIR:-target}/wasm32-unknown-unknown/web"
mkdir -p "$out"
# Vectors of 128 bits, which all browsers have that the page admits: 30 % less time for a run, and the same bytes.
CC_wasm32_unknown_unknown=$clang CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS="-C target-feature=+simd128" \
  cargo build --locked --quiet --package airlane-web --profile web --target wasm32-unknown-unknown
cargo run --locked --quiet --package airlane-bind --features bind -- "$target/airlane_web.wasm" "$out/module"

# The packages of the lock file. npm is asked again only when that has changed.
if ! cmp -s playground/package-lock.json playground/node_modules/.installed; then
  npm --prefix playground ci --no-audit --no-fund --loglevel=error
  cp playground/package-lock.json playground/node_modules/.installed
fi
npm --prefix playground run --silent check
node playground/build.mjs
# From here the wheel takes it, and `airlane playground` in a checkout.
cp "$out/playground.html" python/airlane/playground.html
