#!/bin/sh
# copy_object.sh BUILD COMPILER ARGUMENT...: compiles, but an object of the library is copied from BUILD, which has it already. What
# tests/package/run.py looks at are targets, flags and links; to compile the library once more would take minutes.
build=$1
shift
previous=
for word in "$@"; do
  case $previous in
    -o) object=$word ;;
    -MF) depfile=$word ;;
  esac
  previous=$word
done
case $object in
  */src/*/mergedb_*.dir/* | src/*/mergedb_*.dir/*)
    made=/$object
    made=$build/src/${made#*/src/}
    if [ ! -f "$made" ]; then
      echo "copy_object.sh: $made is not there: the parent compiles other objects than the build under test" >&2
      exit 1
    fi
    echo "$object:" >"$depfile"
    exec cp "$made" "$object"
    ;;
esac
exec "$@"
