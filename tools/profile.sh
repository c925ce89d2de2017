#!/usr/bin/env bash
# A profile for the compiler, from short runs of bundled scenarios: which branches and calls of the core are frequent.
#
#   tools/profile.sh OUT       writes OUT (*.profdata), in some minutes
#   tools/profile.sh --check   names what is missing, if anything is
#
# Steps: build the extension with counters, install it in an environment of its own, run the scenarios below, merge
# their counts. It needs llvm-profdata of the LLVM of rustc: `rustup component add llvm-tools`, or a package of the
# distribution. A profile changes where code is and what is inlined, not what it computes: results keep their bytes.
set -euo pipefail
cd "$(dirname "$0")/.."

# Scenario, and simulated time: each transport, RLC in both modes, fading, several cells, handovers, applications, NR.
RUNS=(
  "lte-download 10" "lte-udp 5" "lte-20ue 10" "lte-drive 10" "lte-ping 5" "lte-aqm 10" "lte-urban 5" "urban-19 5"
  "two-cells 5" "x2-handover 10" "quic-download 5" "quic-wired 10" "meld 10" "mdcc 10" "splitproxy 5" "dash 20"
  "video 20" "web-2011 10" "wired-cubic 10" "trace-link 10" "nr-download 3" "nr-20ue 3" "nr-walk 10"
  "nr-low-latency 5" "nr-urban-57 1.5"
)

host=$(rustc -vV | sed -n 's/^host: //p')

profdata() {
  local sysroot major
  sysroot=$(rustc --print sysroot)
  major=$(rustc -vV | sed -n 's/^LLVM version: \([0-9]*\).*/\1/p')
  for tool in "$sysroot/lib/rustlib/$host/bin/llvm-profdata" "$(command -v "llvm-profdata-$major" || true)"; do
    [ -x "$tool" ] && { echo "$tool"; return; }
  done
  echo "profile: no llvm-profdata of LLVM $major: rustup component add llvm-tools" >&2
  return 1
}

tool=$(profdata)
[ "${1:-}" = --check ] && exit 0
out=$(realpath -m "${1:?name the file to write}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A target folder of its own: the flags differ, and cargo would build everything again at the next `make build`. This
# wheel runs here only, so the machine's own linker is used: Zig's does not know the symbol that the counters need. With
# --target, programs that run during the build are not counted.
RUSTFLAGS="-Cprofile-generate=$work/counts" CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/counted" \
  maturin build --quiet --profile release --target "$host" --compatibility linux --out "$work/wheel"
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check "$work"/wheel/*.whl
for run in "${RUNS[@]}"; do
  read -r name seconds <<<"$run"
  # A scenario whose settings need a longer run keeps its duration.
  (cd "$work" && LLVM_PROFILE_FILE="$work/counts/%p.profraw" "$work/venv/bin/airlane" run --example "$name" \
    --threads 1 --set "run.duration=$seconds s" --set "run.warmup=1 s" -o "$work/run" >/dev/null 2>&1) ||
    (cd "$work" && LLVM_PROFILE_FILE="$work/counts/%p.profraw" "$work/venv/bin/airlane" run --example "$name" \
      --threads 1 -o "$work/run" >/dev/null)
done
mkdir -p "$(dirname "$out")"
"$tool" merge -o "$out" "$work"/counts/*.profraw
echo "profile: $out, of ${#RUNS[@]} runs"
