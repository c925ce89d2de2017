#!/usr/bin/env bash
# Rattan (Apache-2.0, https://github.com/stack-rs/rattan), a peer of `make bench-live`.
#
#   evidence/peers/rattan.sh [PREFIX [SOURCE]]
#
# PREFIX: where it is installed, by default out/peers/rattan.
# SOURCE: a Git repository: its address, by default that of its authors, or a folder. The same commit is
# taken from any.
#
# Cargo takes its dependencies from crates.io, in the versions of its Cargo.lock.
set -euo pipefail

COMMIT=a18829caafbc50082c0e7931579b4eff8d48dfa7 # of July 2026, after version 0.1.1
RUST=1.86
root=$(cd "$(dirname "$0")/../.." && pwd)
prefix=$(realpath -m "${1:-$root/out/peers/rattan}")
source=${2:-https://github.com/stack-rs/rattan}

for program in git cargo cc; do
  command -v "$program" >/dev/null || { echo "rattan: $program is missing" >&2; exit 1; }
done
if [ "$(printf '%s\n' "$RUST" "$(rustc --version | cut -d' ' -f2)" | sort -V | head -n1)" != "$RUST" ]; then
  echo "rattan: it needs Rust $RUST; this is $(rustc --version)" >&2
  exit 1
fi

build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
if [ -d "$source" ]; then
  git -C "$source" archive "$COMMIT" -- . | tar -x -C "$build" ||
    { echo "rattan: $source has no commit $COMMIT" >&2; exit 1; }
else
  git init --quiet "$build"
  git -C "$build" fetch --quiet --depth 1 "$source" "$COMMIT" ||
    { echo "rattan: $source does not give commit $COMMIT" >&2; exit 1; }
  git -C "$build" checkout --quiet FETCH_HEAD
fi

# A debug build's information is a gigabyte and is not needed. Without the feature "nat" it needs no libnftnl.
cd "$build"
CARGO_PROFILE_RELEASE_DEBUG=false CARGO_TARGET_DIR="${RATTAN_TARGET_DIR:-$build/target}" \
  cargo install --quiet --locked --force --path . --root "$prefix" ||
  { echo "rattan: it did not build" >&2; exit 1; }
echo "rattan: $prefix/bin/rattan (commit ${COMMIT:0:12})"
