#!/usr/bin/env bash
# cargo test and pytest. `make test` calls this; the environment and the release extension must exist.
# The runners' own closing lines are repeated at the end, where a reader of a long log looks for them.
set -uo pipefail
cd "$(dirname "$0")/.."
log=$(mktemp -d)
trap 'rm -rf "$log"' EXIT

cargo test --workspace --locked 2>&1 | tee "$log/cargo"
cargo_status=${PIPESTATUS[0]}
# The examples are programs outside of the workspace, which build against the crates. They have other features than
# above, so that everything is compiled again; their tests are short, and do not need it to be optimised.
for example in examples/*/Cargo.toml; do
    cargo test --locked --config 'profile.test.package."*".opt-level=0' --manifest-path "$example" \
      --target-dir "${CARGO_TARGET_DIR:-target}" 2>&1 | tee -a "$log/cargo"
    [ "${PIPESTATUS[0]}" -eq 0 ] || cargo_status=1
done
# Tests that compare with an unoptimised build take what cargo test has built, and fail where it is not there.
export AIRLANE_CARGO_TEST="${CARGO_TARGET_DIR:-$PWD/target}/debug"
# Tests in virtual time share the cores. Those with the clock of the machine come after them, one by one.
.venv/bin/python -m pytest --durations=20 -n auto --dist loadfile -m "not real_time" 2>&1 | tee "$log/pytest"
pytest_status=${PIPESTATUS[0]}
.venv/bin/python -m pytest --durations=20 -m real_time 2>&1 | tee "$log/real_time"
real_time_status=${PIPESTATUS[0]}

printf '\ncargo test:\n'
grep -E '^(test result:|error)' "$log/cargo"
printf 'pytest:\n'
tail -qn 1 "$log/pytest" "$log/real_time"
[ "$cargo_status" -eq 0 ] && [ "$pytest_status" -eq 0 ] && [ "$real_time_status" -eq 0 ]
