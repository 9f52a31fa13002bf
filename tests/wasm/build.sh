#!/usr/bin/env bash
# Builds the modules of this folder anew from the starters: `bash tests/wasm/build.sh`. It needs the compilers that their READMEs name.
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# The linker of WebAssembly is a part of lld, or of every Rust toolchain.
lld=
command -v wasm-ld >/dev/null || lld=-fuse-ld=$(rustc --print sysroot)/lib/rustlib/$(rustc -vV | sed -n 's/^host: //p')/bin/gcc-ld/wasm-ld
for kind in control:reno queue:fifo; do
    for language in rust:rust c:c assemblyscript:asc; do
        name=${kind#*:}_${language#*:}
        "${PYTHON:-python3}" -m haltere new "${kind%:*}" --lang "${language%:*}" "$folder/$name" >/dev/null
        make -s -C "$folder/$name" "$name.wasm" LLD="$lld"
        cp "$folder/$name/$name.wasm" tests/wasm/
    done
done
