#!/usr/bin/env bash
# Checks that the simulator crates compile for macOS and Windows. ring, which QUIC uses, compiles C for its
# target: Zig does that. Targets that are not installed are skipped with a message.
set -euo pipefail
cd "$(dirname "$0")/.."
python=.venv/bin/python
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# What Zig, which is told the target by -target, does not take of what ring's build script passes to clang.
cat >"$work/cc" <<EOF
#!/usr/bin/env bash
words=()
while [ \$# -gt 0 ]; do
  case \$1 in
    -arch) shift ;;
    -mmacosx-version-min=* | --target=* | -gfull) ;;
    *) words+=("\$1") ;;
  esac
  shift
done
exec "$PWD/$python" -m ziglang cc -target "\$ZIG_TARGET" "\${words[@]}"
EOF
chmod +x "$work/cc"

installed=$(rustup target list --installed)
for pair in aarch64-apple-darwin:aarch64-macos x86_64-apple-darwin:x86_64-macos x86_64-pc-windows-gnu:x86_64-windows-gnu; do
  target=${pair%%:*} under=${pair%%:*}
  under=${under//-/_}
  if ! grep -qx "$target" <<<"$installed"; then
    echo "targets: skipped $target: rustup target add $target"
    continue
  fi
  # Not the bindings: PyO3 needs the Python of the target.
  env "ZIG_TARGET=${pair#*:}" "CC_$under=$work/cc" "AR_$under=ar" \
    cargo check --workspace --exclude airlane-py --locked --quiet --target "$target"
  echo "targets: ok $target"
done
