#!/usr/bin/env bash
# The tests of the crates without I/O in Miri, or those whose names hold FILTER. libm's assembly is replaced by its Rust. A test that takes
# minutes there says so and is left out. Each crate ends with its counts. With SECONDS_EACH a crate ends after so long, which is no failure.
set -euo pipefail
cd "$(dirname "$0")/../.."
cargo +nightly miri --version >/dev/null 2>&1 || { echo "miri is missing: rustup toolchain install nightly --component miri,rust-src" >&2; exit 2; }
export MIRIFLAGS="-Zmiri-disable-isolation" PROPTEST_CASES="${PROPTEST_CASES:-4}" CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/miri-tests"
read -ra filter <<<"${FILTER:-}"
told="$(mktemp)"
trap 'rm -f "$told"' EXIT
for crate in ${CRATES:-units queue congestion plan transport}; do
    features=(--features libm/force-soft-floats)
    [ "$crate" != units ] || features=(--test text --test quantities)
    [ "$crate" = units ] || features+=(--lib)
    status=0
    cargo +nightly miri test --quiet --no-run -p "haltere-$crate" "${features[@]}"
    timeout "${SECONDS_EACH:-0}" cargo +nightly miri test -p "haltere-$crate" "${features[@]}" -- "${filter[@]}" >"$told" 2>&1 || status=$?
    count() { grep -cE "^test .* \.\.\. $1" "$told" || true; }
    echo "$crate: $(count ok) passed, $(count FAILED) failed, $(count ignored) left out$([ $status != 124 ] || echo ", ended after $SECONDS_EACH s")"
    [ $status = 0 ] || [ $status = 124 ] || { cat "$told" >&2; exit 1; }
done
