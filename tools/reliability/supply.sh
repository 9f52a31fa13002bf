#!/usr/bin/env bash
# What comes from others: licences, advisories and duplicates of crates; Python packages with hashes; a bill of materials.
set -euo pipefail
cd "$(dirname "$0")/../.."
python="$1"
out="${CARGO_TARGET_DIR:-target}/sbom"
mkdir -p "$out"
if command -v cargo-deny >/dev/null; then
    cargo deny --log-level error check licenses bans sources
    # The database comes over the network. `make nightly` has one, and fails without it.
    cargo deny --log-level error check advisories || { echo "advisories: not checked, or found: see above" >&2; [ -z "${STRICT:-}" ]; }
else
    echo "cargo-deny is missing: cargo install --locked cargo-deny" >&2
fi
"$python" tools/release/licences.py
"$python" tools/reliability/locked.py requirements-lock.txt
"$python" tools/reliability/sbom.py "$out/haltere.cdx.json"
