#!/usr/bin/env bash
# The tests of the crates without I/O in Miri, or those whose names hold FILTER. libm's assembly is replaced by its Rust. All take hours:
# Miri is some hundred times slower than a processor.
set -euo pipefail
cd "$(dirname "$0")/../.."
cargo +nightly miri --version >/dev/null 2>&1 || { echo "miri is missing: rustup toolchain install nightly --component miri,rust-src" >&2; exit 2; }
export MIRIFLAGS="-Zmiri-disable-isolation" PROPTEST_CASES="${PROPTEST_CASES:-2}"
read -ra filter <<<"${FILTER:-}"
for crate in ${CRATES:-units plan queue congestion}; do
    features=(--features libm/force-soft-floats)
    [ "$crate" != units ] || features=(--test text --test quantities)
    [ "$crate" = units ] || features+=(--lib)
    cargo +nightly miri test -p "haltere-$crate" "${features[@]}" -- "${filter[@]}"
done
