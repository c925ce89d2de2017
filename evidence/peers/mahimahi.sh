#!/usr/bin/env bash
# Mahimahi (GPL-3.0-or-later, https://github.com/ravinet/mahimahi), a peer of `make bench-live`.
#
#   evidence/peers/mahimahi.sh [PREFIX [SOURCE]]
#
# PREFIX: where it is installed, by default out/peers/mahimahi.
# SOURCE: a Git repository: its address, by default that of its authors, or a folder. The same commit is
# taken from any.
#
# Its programs are installed setuid root, so this needs root. Nothing of it becomes part of airlane.
set -euo pipefail

COMMIT=ae477d437615b972217498ba52be07db17a15618 # of December 2024, after version 0.98
root=$(cd "$(dirname "$0")/../.." && pwd)
prefix=$(realpath -m "${1:-$root/out/peers/mahimahi}")
source=${2:-https://github.com/ravinet/mahimahi}

packages=(git autoconf automake libtool pkg-config make g++ protobuf-compiler libprotobuf-dev libssl-dev
  libxcb1-dev libxcb-present-dev libcairo2-dev libpango1.0-dev apache2-dev apache2-bin ssl-cert iptables
  dnsmasq-base iproute2)
missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
  echo "mahimahi: these Debian packages are missing: apt-get install --no-install-recommends ${missing[*]}" >&2
  exit 1
fi
if [ "$(id -u)" != 0 ]; then
  echo "mahimahi: its programs are setuid root: run this as root" >&2
  exit 1
fi

build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
if [ -d "$source" ]; then
  # Without the recorded traces, which a copy of the repository may lack and no program here needs.
  export GIT_DIR GIT_WORK_TREE=$build GIT_INDEX_FILE=$build/.index
  GIT_DIR=$(git -C "$source" rev-parse --absolute-git-dir)
  git read-tree "$COMMIT" || { echo "mahimahi: $source has no commit $COMMIT" >&2; exit 1; }
  git ls-files -z -- ':!traces/*.up' ':!traces/*.down' | git checkout-index -z --stdin
  unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
else
  git init --quiet "$build"
  git -C "$build" fetch --quiet --depth 1 "$source" "$COMMIT" ||
    { echo "mahimahi: $source does not give commit $COMMIT" >&2; exit 1; }
  git -C "$build" checkout --quiet FETCH_HEAD
fi

# Its warnings are errors, and protobuf 3.21 with g++ 12 has some.
build() {
  autoreconf -fi && ./configure --prefix="$prefix" CXXFLAGS=-O2 && make -j"$(nproc)" -C src PICKY_CXXFLAGS= &&
    make -C src install
}
cd "$build"
build >build.log 2>&1 || { tail -n 20 build.log >&2; echo "mahimahi: it did not build" >&2; exit 1; }
echo "mahimahi: $prefix/bin/mm-link, mm-delay (commit ${COMMIT:0:12})"
