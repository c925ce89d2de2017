#!/usr/bin/env bash
# Installs what `make wheel` left in dist/ as a user without Rust would, and runs the first commands of the
# tutorial, all within a minute. With --sdist, the source distribution too, which needs Rust and takes minutes;
# with --here, the wheel may be for this machine alone.
set -euo pipefail
cd "$(dirname "$0")/.."
limit_s=60
here='' sdist_too=''
for option in "$@"; do
  case $option in
    --here) here=yes ;;
    --sdist) sdist_too=yes ;;
    *) echo "check_wheel: $option is no option: --here, --sdist" >&2; exit 2 ;;
  esac
done
python=${PYTHON:-python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() { echo "check_wheel: $*" >&2; exit 1; }

shopt -s nullglob
wheels=(dist/airlane-*.whl) sdists=(dist/airlane-*.tar.gz)
[ ${#wheels[@]} -eq 1 ] && [ ${#sdists[@]} -eq 1 ] || fail "dist/ should hold one wheel and one sdist: make wheel"
wheel=$(realpath "${wheels[0]}") sdist=$(realpath "${sdists[0]}")
case $(uname -s)$here:$wheel in
  Linuxyes:*-abi3-linux_*) ;;
  Linux:*-abi3-*manylinux_2_17_*) ;;
  Darwin:*-abi3-macosx_*) ;;
  *yes:*) fail "$wheel is not for any CPython 3 of this machine" ;;
  *) fail "$wheel is not for any CPython 3 of this system (Linux: glibc 2.17)" ;;
esac

"$python" -m venv "$work/venv"
# No tool of a developer is reachable: neither cargo nor a compiler, whatever this machine has.
mkdir "$work/bin"
for tool in env bash uname ldd; do # macOS has no ldd
  if path=$(command -v $tool); then ln -s "$path" "$work/bin/"; fi
done
airlane() { (cd "$work" && PATH="$work/venv/bin:$work/bin" HOME="$work" command airlane "$@"); }

began=$SECONDS
PATH="$work/venv/bin:$work/bin" HOME="$work" pip install --quiet --disable-pip-version-check --only-binary :all: "$wheel"
installed=$SECONDS
airlane --version
airlane run --example lte-download
took=$((SECONDS - began))
printf 'installed in %d s, installed and run in %d s; environment of %s\n' \
  $((installed - began)) "$took" "$(du -sh "$work/venv" | cut -f1)"
[ "$took" -le "$limit_s" ] || fail "that is more than $limit_s s"

[ -s "$work/out/runs/lte-download/summary.csv" ] || fail "no summary.csv"
[[ $(airlane list scenarios) == *lte-download* ]] || fail "the wheel has no scenarios"
airlane init mine.toml
airlane run mine.toml --set run.duration=6s
if airlane report out/runs/lte-download 2>"$work/said"; then fail "the report needs the extra, yet worked"; fi
grep -qF "pip install 'jinja2" "$work/said" || fail "a missing extra is not named: $(cat "$work/said")"

if [ "$sdist_too" ]; then
  "$python" -m venv "$work/source"
  "$work/source/bin/pip" install --quiet --disable-pip-version-check "$sdist"
  (cd "$work" && source/bin/airlane run --example trace-link -o from-sdist)
  cmp <(cd "$work" && source/bin/airlane run --example lte-download -o s --json | grep -v wall_s) \
      <(airlane run --example lte-download -o w --json | grep -v wall_s) ||
    fail "wheel and source distribution differ in their results"
fi
echo "check_wheel: ok"
