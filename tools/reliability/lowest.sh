#!/usr/bin/env bash
# The tests of the store, reports, SQL, clusters, search and gym with the lowest versions that pyproject.toml allows.
set -euo pipefail
cd "$(dirname "$0")/../.."
python="$1"
command -v uv >/dev/null || { echo "uv is missing: pip install uv" >&2; exit 2; }
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
uv pip compile pyproject.toml --extra report --extra pandas --extra scale --extra wire --extra search --extra gym --resolution lowest-direct --python-version 3.11 -q -o "$folder/lowest.txt"
uv venv -q --python "$("$python" -c 'import sys; print(sys.executable)')" "$folder/venv"
uv pip install -q --python "$folder/venv/bin/python" -r "$folder/lowest.txt" pytest 'moto[s3]>=5' flask flask-cors
PYTHONPATH="$PWD/python" "$folder/venv/bin/python" -m pytest -q -p no:cacheprovider tests/python/test_store.py tests/python/test_faults.py \
    tests/python/test_report.py tests/python/test_stats.py tests/python/test_cluster.py tests/python/test_store_faults.py tests/python/test_play.py \
    tests/python/test_store_by_hand.py tests/python/test_stats_by_hand.py tests/python/test_search.py tests/python/test_gym.py
