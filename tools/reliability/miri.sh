#!/usr/bin/env bash
# The tests of the crates without I/O in Miri. libm's assembly is replaced by its Rust; random tests draw few cases.
# Tests that draw hundreds of thousands of numbers take hours in Miri: LONG leaves them out, by a part of their names.
set -euo pipefail
cd "$(dirname "$0")/../.."
command -v cargo-miri >/dev/null && cargo +nightly miri --version >/dev/null || { echo "miri is missing: rustup toolchain install nightly --component miri,rust-src" >&2; exit 2; }
export MIRIFLAGS="-Zmiri-disable-isolation" PROPTEST_CASES="${PROPTEST_CASES:-2}"
long=(LONG)
cargo +nightly miri test -p haltere-units --test quantities --test text
for crate in plan queue congestion; do
    cargo +nightly miri test -p "haltere-$crate" --lib --features libm/force-soft-floats -- "${long[@]/#/--skip=}"
done
