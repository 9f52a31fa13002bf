#!/usr/bin/env bash
# Lines that tests reach: the five lower Rust crates by their own tests, and the Python package.
set -euo pipefail
cd "$(dirname "$0")/../.."
python="$1"
lower=(units queue congestion transport plan)
if command -v cargo-llvm-cov >/dev/null; then
    cargo llvm-cov --no-report --quiet "${lower[@]/#/-phaltere-}" >/dev/null
    cargo llvm-cov report --json --summary-only | "$python" tools/reliability/covered.py "${lower[@]}"
else
    echo "cargo-llvm-cov is missing: cargo install --locked cargo-llvm-cov && rustup component add llvm-tools" >&2
fi
if "$python" -c 'import coverage' 2>/dev/null; then
    "$python" -m coverage run --source python/haltere -m pytest -q tests/python >/dev/null || true
    "$python" -m coverage report --skip-covered | tail -40
else
    echo "coverage is missing: pip install coverage" >&2
fi
