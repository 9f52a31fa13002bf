#!/usr/bin/env bash
# Builds python/haltere/assets/echarts.min.js from the published packages. The output is the same bytes each time; a test holds its checksum.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
assets=$here/../../python/haltere/assets
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init --yes >/dev/null
npm install --no-audit --no-fund --save-exact echarts@6.1.0 zrender@6.1.0 tslib@2.3.0 esbuild@0.28.2
cp "$here/entry.js" .
npx esbuild entry.js --bundle --minify --target=es2020 --format=iife --global-name=echarts --legal-comments=none --outfile=echarts.min.js
cp echarts.min.js "$assets/echarts.min.js"
{
  cat node_modules/echarts/NOTICE
  printf '\n\n--- Apache ECharts %s ---\n\n' 6.1.0
  cat node_modules/echarts/LICENSE
  printf '\n\n--- ZRender ---\n\n'
  cat node_modules/zrender/LICENSE
  printf '\n\n--- tslib ---\n\n'
  cat node_modules/tslib/LICENSE.txt
} > "$assets/echarts.LICENSE"
