#!/usr/bin/env bash
# reproducible.sh: builds the Debian packages twice, from copies of the sources in two folders with names of different
# lengths, and fails if a package differs in one byte. Uses no compiler cache. About as long as two release builds.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export CCACHE_DISABLE=1
folder=$PWD/build/reproducible
rm -rf "$folder"
for name in first second-with-a-longer-name; do
  mkdir -p "$folder/$name"
  scripts/packages.sh "$folder/$name" >"$folder/$name.log" 2>&1 || { tail -n 30 "$folder/$name.log" >&2; exit 1; }
done
if ! diff -rq --exclude=build --exclude=debian "$folder/first/source" "$folder/second-with-a-longer-name/source" >&2; then
  echo "FAILED: the sources changed between the two builds, so the packages tell nothing; run it again" >&2
  exit 1
fi
differing=0
for package in "$folder"/first/*.deb; do
  if cmp "$package" "$folder/second-with-a-longer-name/${package##*/}"; then
    echo "same: ${package##*/}"
  else
    differing=$((differing + 1))
  fi
done
if ((differing > 0)); then
  echo "FAILED: $differing packages differ; diffoscope shows where" >&2
  exit 1
fi
