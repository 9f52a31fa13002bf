#!/usr/bin/env bash
# Two wheels of one commit, built in two folders, must be the same bytes. If not: the files in them that differ.
set -euo pipefail
cd "$(dirname "$0")/../.."
maturin="$(realpath "$1")"
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
SOURCE_DATE_EPOCH="$(git log -1 --format=%ct)"
export SOURCE_DATE_EPOCH
for one in a bb; do
    git clone -q . "$folder/$one"
    # The folder's name must not be in the wheel.
    (cd "$folder/$one" && RUSTFLAGS="--remap-path-prefix=$folder/$one=/haltere --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo" \
        CARGO_TARGET_DIR="$folder/target-$one" "$maturin" build --quiet --profile python --out "$folder/wheels-$one")
    rm -rf "$folder/target-$one"
done
cd "$folder"
sha256sum wheels-a/*.whl wheels-bb/*.whl
if cmp wheels-a/*.whl wheels-bb/*.whl; then
    echo "the wheels are the same, byte by byte"
else
    for one in a bb; do python3 -m zipfile -e wheels-"$one"/*.whl "unpacked-$one"; done
    diff -rq unpacked-a unpacked-bb || true
    [ -z "${KEEP:-}" ] || cp -r wheels-a wheels-bb "$KEEP"
    exit 1
fi
