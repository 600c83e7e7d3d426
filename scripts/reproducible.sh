#!/usr/bin/env bash
# reproducible.sh: builds the Debian packages, the command as one file, the Python wheel and the source distribution twice,
# from copies of the sources in two folders with names of different lengths, and fails if a file differs in one byte. Uses no
# compiler cache. About as long as two release builds and two builds of the wheel. pip downloads once for each copy.
#
# The command and the wheel are made of the objects that the packages are made of: those have the flags of a release build.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export CCACHE_DISABLE=1
folder=$PWD/build/reproducible
jobs=${MERGEDB_JOBS:-$(nproc)}
rm -rf "$folder"

# Joined by &&: the caller tests the exit code, so bash goes on after a failure.
build_copy() {  # FOLDER
  scripts/packages.sh "$1" &&
    cp -a dev python "$1/source" &&
    mkdir -p "$1/source/java/native" &&
    cp -a java/native/glibc.cc "$1/source/java/native" &&
    cd "$1/source" &&
    ninja -C build/deb -j "$jobs" mergedb_one_file lib/libmergedb_lmdb.a &&
    MERGEDB_JOBS=$jobs MERGEDB_LIBRARY=$PWD/build/deb/lib/libmergedb.a ./dev build python &&
    cp build/deb/bin/mergedb-static build/python/dist/* "$1"
}

for name in first second-with-a-longer-name; do
  mkdir -p "$folder/$name"
  (build_copy "$folder/$name") >"$folder/$name.log" 2>&1 || { tail -n 30 "$folder/$name.log" >&2; exit 1; }
done
if ! diff -rq --exclude=build --exclude=debian "$folder/first/source" "$folder/second-with-a-longer-name/source" >&2; then
  echo "FAILED: the sources changed between the two builds, so their results tell nothing; run it again" >&2
  exit 1
fi
differing=0
for file in "$folder"/first/{*.deb,mergedb-static,*.whl,*.tar.gz}; do
  if cmp "$file" "$folder/second-with-a-longer-name/${file##*/}"; then
    echo "same: ${file##*/}"
  else
    differing=$((differing + 1))
  fi
done
if ((differing > 0)); then
  echo "FAILED: $differing files differ; diffoscope shows where" >&2
  exit 1
fi
