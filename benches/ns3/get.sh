#!/bin/bash
# get.sh DIRECTORY: ns-3 from Debian's source package, compiled with its `optimized` profile: no logging, no asserts,
# -O3 -march=native. What Debian's own library and PyPI's wheel have compiled in costs ns-3 half its speed.
# Needs a Debian with apt-get, g++, cmake and ninja; writes nothing outside DIRECTORY. Some six minutes of CPU.
set -euo pipefail
version=3.37
suite=bookworm
into=$(mkdir -p "${1:?usage: get.sh DIRECTORY}" && cd "$1" && pwd)
for tool in apt-get g++ cmake ninja tar; do
  command -v "$tool" >/dev/null || { echo "get.sh: $tool is missing: apt-get install apt g++ cmake ninja-build tar" >&2; exit 2; }
done
if ls "$into"/build/lib/libns3*-{core,applications,traffic-control}-optimized.so >/dev/null 2>&1; then
  echo "already in $into/build"; exit 0
fi
cd "$into"
if [ ! -d "ns-allinone-$version" ]; then
  # A package list of our own, so that the machine's stays as it is.
  mkdir -p apt/lists/partial apt/cache/archives/partial apt/parts
  echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian $suite main" > apt/sources.list
  apt=(apt-get -q -o "Dir::Etc::SourceList=$into/apt/sources.list" -o "Dir::Etc::SourceParts=$into/apt/parts"
    -o "Dir::State::Lists=$into/apt/lists" -o "Dir::Cache=$into/apt/cache")
  "${apt[@]}" update
  "${apt[@]}" source --download-only ns3
  tar -xf ns3_$version.orig.tar.* "ns-allinone-$version/ns-$version"
fi
cd "ns-allinone-$version/ns-$version"
./ns3 configure --build-profile=optimized --disable-examples --disable-tests --disable-python-bindings \
  --enable-modules=core,network,internet,internet-apps,applications,point-to-point,traffic-control
# The libraries alone: the library of tests, which 3.37 makes in spite of --disable-tests, needs modules that are not here.
ninja -C cmake-cache lib{core,network,internet,internet-apps,applications,point-to-point,traffic-control,bridge,stats}
ln -sfn "$PWD/build" "$into/build"
echo "ns-3 $version in $into/build"
