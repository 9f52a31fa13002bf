#!/usr/bin/env bash
# Changed code that no test notices. Rust (cargo-mutants): the lines that differ from BASE (main), or SHARD=k/n, a part of queue and congestion.
# Python (mutmut): MODULES (all four of the statistics and the store), in a copy of the tree whose package is in `src`, where mutmut looks.
# ONLY=rust or ONLY=python does one half.
set -euo pipefail
cd "$(dirname "$0")/../.."
python="$(realpath -s "$1")"
tree="$(mktemp -d)"
trap 'rm -rf "$tree"' EXIT
git ls-files -z | tar --null --files-from=- -c | tar -x -C "$tree"
if [ "${ONLY:-}" = python ]; then
    :
elif command -v cargo-mutants >/dev/null; then
    # cargo-mutants follows `mod` lines; a registry's macro declares the modules of mechanisms. The compiler does not see `cfg(any())`.
    for registry in crates/haltere-{queue,congestion}/src/{lib.rs,classify/mod.rs,service/mod.rs}; do
        [ ! -f "$registry" ] || sed -nE 's/^    (@[a-z]+ )?([a-z0-9_]+) => [A-Z].*;$/#[cfg(any())]\nmod \2;/p' "$registry" >> "$tree/$registry"
    done
    git diff "${BASE:-main}" -- crates > "$tree/change.diff"
    if [ -n "${SHARD:-}" ]; then which=(--shard "$SHARD"); else which=(--in-diff "$tree/change.diff"); fi
    cargo mutants --dir "$tree" --output target -p haltere-queue -p haltere-congestion "${which[@]}" || [ $? = 2 ] # 2: some survived
else
    echo "cargo-mutants is missing: cargo install --locked cargo-mutants" >&2
fi
if [ "${ONLY:-}" = rust ]; then
    :
elif "$python" -c 'import mutmut' 2>/dev/null; then
    cp python/haltere/_core*.so "$tree/python/haltere/"
    cd "$tree"
    cp -rL python src
    modules="${MODULES:-analysis/stats.py runs/store.py runs/files.py runs/records.py}"
    tests="${TESTS:-test_stats test_stats_by_hand test_precision test_store_by_hand test_records_by_hand test_store_faults}"
    printf '[tool.mutmut]\npaths_to_mutate = [%s]\ntests_dir = [%s]\nalso_copy = ["src", "tests", "docs", "papers", "README.md"]\n' \
        "$(printf '"src/haltere/%s",' $modules)" "$(printf '"tests/python/%s.py",' $tests)" > pyproject.toml
    PYTHONPATH=tests/python HALTERE_TEST_FAULTS=60 "$python" -m mutmut run --max-children "${JOBS:-2}" || true
    "$python" -m mutmut results
else
    echo "mutmut is missing: pip install 'mutmut>=3'" >&2
fi
