#!/usr/bin/env bash
# Lines that tests reach: the five lower Rust crates by their own tests and those of haltere-lab, which makes plans; the Python package.
# ONLY=rust or ONLY=python does one half.
set -euo pipefail
cd "$(dirname "$0")/../.."
python="$1"
status=0
lower=(units queue congestion transport plan)
if [ "${ONLY:-}" = python ]; then
    :
elif command -v cargo-llvm-cov >/dev/null; then
    cargo llvm-cov clean --profraw-only # an earlier call may have left counts of other code
    told="$(mktemp)"
    # Counted code is slow, and the last of many random cases reach no new lines.
    PROPTEST_CASES="${PROPTEST_CASES:-64}" CARGO_TERM_COLOR=never \
        cargo llvm-cov --no-report "${lower[@]/#/-phaltere-}" -phaltere-lab 2>"$told" >/dev/null || { tail -n 40 "$told" >&2; exit 1; }
    "$python" tools/reliability/covered.py "$told" "${lower[@]}" || status=1
    rm "$told"
else
    echo "cargo-llvm-cov is missing: cargo install --locked cargo-llvm-cov && rustup component add llvm-tools" >&2
fi
if [ "${ONLY:-}" = rust ]; then
    :
elif "$python" -c 'import coverage' 2>/dev/null; then
    folder="$(mktemp -d)"
    trap 'rm -rf "$folder"' EXIT
    export COVERAGE_RCFILE="$PWD/tools/reliability/coverage.toml" COVERAGE_FILE="$folder/.coverage"
    "$python" -m coverage run -m pytest -q -n "${JOBS:-2}" --dist loadfile || echo "some tests failed: fewer lines are reached" >&2
    "$python" -m coverage combine --quiet
    # Tests also run copies of the package, which do not count.
    "$python" -m coverage report --include='python/haltere/*' --skip-covered --sort=cover
else
    echo "coverage is missing: pip install coverage" >&2
fi
exit "$status"
