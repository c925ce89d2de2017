#!/usr/bin/env bash
# Compiles the congestion control of `airlane node mdcc`. `make bpf` calls this; clang and llvm-strip are needed.
# The object is committed, so that nobody else needs them. It holds the digest of its sources, which
# tests/test_bpf.py compares with the sources.
set -euo pipefail
cd "$(dirname "$0")/../crates/nodes/bpf"
strip=$(command -v llvm-strip || ls /usr/bin/llvm-strip-* 2>/dev/null | tail -n 1)
digest=$(cat mdcc.bpf.c ./*.h | sha256sum | cut -d ' ' -f 1)
clang -O2 -g -target bpf -mcpu=v3 -Wall -Wextra -Werror -Wno-unused-parameter "-ffile-prefix-map=$PWD=." \
  "-DSOURCE_DIGEST=\"sources $digest\"" -c mdcc.bpf.c -o mdcc.bpf.o
"$strip" -g mdcc.bpf.o
ls -l mdcc.bpf.o
