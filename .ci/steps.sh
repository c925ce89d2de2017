# What `.ci/run` and `.ci/nightly` have in common.

# With it, tests write into the manual what they should compare.
if [ -n "${AIRLANE_BLESS:-}" ]; then
  echo "ci: AIRLANE_BLESS is set, so that no test would compare the manual with what is printed; unset it" >&2
  exit 1
fi

# A cold build gains nothing from it, and it doubles the target folder.
export CARGO_INCREMENTAL=0
# Images of containers set it. Without bytecode each command of the tests compiles all that it imports: 1.2 s, not 0.4 s.
unset PYTHONDONTWRITEBYTECODE

times=()
run() {
  local began=$SECONDS
  printf '\n#### make %s\n' "$*"
  make "$@"
  times+=("$(printf '%5d s  make %s' $((SECONDS - began)) "$*")")
}

# What only some targets and tests need. Where it cannot be installed they skip what needs it, and say so.
provide() {
  local packages=() program began=$SECONDS
  command -v clang >/dev/null || packages+=(clang)
  command -v chromium >/dev/null || packages+=(chromium)
  # Programs of the live tests: each is skipped with a message where its program is missing.
  local -A program_of=([iperf3]=iperf3 [ping]=iputils-ping [traceroute]=traceroute [dig]=bind9-dnsutils
    [dnsmasq]=dnsmasq-base [nginx]=nginx-light [curl]=curl [openssl]=openssl [ip]=iproute2 [nft]=nftables [setpriv]=util-linux
    [ethtool]=ethtool [tshark]=tshark)
  # `make nodes` takes the congestion control of `airlane node mdcc` with it where libelf is found.
  echo '#include <libelf.h>' | cc -E - >/dev/null 2>&1 || packages+=(libelf-dev zlib1g-dev)
  for program in "${!program_of[@]}"; do
    command -v "$program" >/dev/null || packages+=("${program_of[$program]}")
  done
  rustup target add wasm32-unknown-unknown || echo "ci: no target wasm32-unknown-unknown" >&2
  if [ ${#packages[@]} -gt 0 ]; then
    # RUNLEVEL=1: no server is started (invoke-rc.d(8)).
    export DEBIAN_FRONTEND=noninteractive RUNLEVEL=1
    { apt-get update -qq && apt-get install -qq -y --no-install-recommends "${packages[@]}" >/dev/null; } ||
      echo "ci: not installed: ${packages[*]}" >&2
  fi
  # The environments hold gigabytes. uv keeps one copy of each package for all of them; without it, pip does.
  tools=$(mktemp -d)
  trap 'rm -rf "$tools"' EXIT
  python3 -m venv "$tools/venv" && "$tools/venv/bin/pip" install --quiet uv || echo "ci: not installed: uv" >&2
  ln -s "$tools/venv/bin/uv" "$tools" && export PATH="$PATH:$tools"
  times+=("$(printf '%5d s  clang, chromium, wasm32, uv, programs of the live tests' $((SECONDS - began)))")
}

# Compares what is committed, and prints what each step took.
finish() {
  git diff --exit-code && [ -z "$(git status --porcelain)" ] ||
    { git status --short; echo "ci: what is committed is not what a target writes" >&2; exit 1; }
  printf '\nci: ok\n'
  printf '%s\n' "${times[@]}" "$(printf '%5d s  in all' $SECONDS)"
}
