#!/usr/bin/env bash
# Each cargo-fuzz target for SECONDS_EACH seconds, from the committed corpus. With a nightly the targets have the address sanitizer;
# without one, RUSTC_BOOTSTRAP=1 lets the stable compiler build them without it.
set -euo pipefail
cd "$(dirname "$0")/../.."
command -v cargo-fuzz >/dev/null || { echo "cargo-fuzz is missing: cargo install --locked cargo-fuzz" >&2; exit 2; }
fuzz=(cargo +nightly fuzz)
options=()
if ! cargo +nightly --version >/dev/null 2>&1; then
    export RUSTC_BOOTSTRAP=1
    fuzz=(cargo fuzz)
    options=(--sanitizer none)
fi
for target in experiment trace arrivals capture frame router; do
    found="$(mktemp -d)" # new inputs; the committed corpus stays small
    set +e
    "${fuzz[@]}" run "${options[@]}" "$target" "$found" "fuzz/corpus/$target" -- \
        -max_total_time="$SECONDS_EACH" -timeout=25 -rss_limit_mb=4096 -print_final_stats=1 2>&1 | grep -E "stat::number|stat::peak|ERROR|SUMMARY|panicked|artifact"
    status=${PIPESTATUS[0]}
    set -e
    rm -rf "$found"
    echo "$target: status $status"
    [ "$status" = 0 ] || exit "$status"
done
