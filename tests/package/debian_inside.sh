# The part of debian_test.sh that runs in the bare system.
set -euo pipefail
cd /mnt
step() { printf '\n-- %s\n' "$*"; }
fail() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }
same() { [[ $1 == "$2" ]] || fail "expected \"$2\", found \"$1\""; }
has() { [[ $1 == *"$2"* ]] || fail "expected a text with \"$2\", found \"$1\""; }
apt() { DEBIAN_FRONTEND=noninteractive apt-get -y -q -o Acquire::Retries=3 "$@" >/mnt/apt.log 2>&1 || { tail -n 30 /mnt/apt.log >&2; fail "apt-get $*"; }; }
ours() { find / -xdev '(' -path /mnt -o -path /proc -o -path /dev -o -path /var/lib/apt ')' -prune -o -name '*mergedb*' -print; }
# The exit code of a command.
code() { local outcome=0; "$@" >/mnt/said 2>&1 || outcome=$?; echo $outcome; }

apt update

step "The command, with its man pages and completions"
apt install --no-install-recommends ./packages/mergedb-tools_*.deb
mergedb put /tmp/fruit apple green
same "$(mergedb get /tmp/fruit apple)" green
has "$(mergedb doctor)" "the engine works"
for verb in $(mergedb --help | sed -n '/^Subcommands:/,/^$/s/^  \([a-z-]*\) .*/\1/p'); do
  has "$(zcat "/usr/share/man/man1/mergedb-$verb.1.gz")" "mergedb $(mergedb --version | cut -d' ' -f2)"
done
. /usr/share/bash-completion/completions/mergedb
COMP_WORDS=(mergedb sc) COMP_CWORD=1
_mergedb
same "${COMPREPLY[*]}" scan
[[ -s /usr/share/zsh/vendor-completions/_mergedb && -s /usr/share/fish/vendor_completions.d/mergedb.fish ]] || fail "no completions for zsh and fish"
[[ -s /usr/share/mergedb/grafana/mergedb.json ]] || fail "no Grafana dashboard"
[[ ! -e /usr/bin/mergedb-run ]] || fail "the drop-ins are installed without being asked for"

step "Drop-in libraries: nothing changes unasked, and mergedb-run replaces the libraries of one program"
apt install --no-install-recommends python3-plyvel python3-lmdb
before=$(sha256sum /usr/lib/*/libleveldb.so.1d /usr/lib/*/liblmdb.so.0)
apt install --no-install-recommends ./packages/mergedb-dropins_*.deb
same "$(sha256sum /usr/lib/*/libleveldb.so.1d /usr/lib/*/liblmdb.so.0)" "$before"
ldconfig
same "$(ldconfig -p | grep -c /mergedb/ || true)" 0
cat >leveldb.py <<'PYTHON'
import plyvel, sys
database = plyvel.DB(sys.argv[1], create_if_missing=True)
database.put(b"key", b"value")
print(database.get(b"key").decode())
PYTHON
cat >lmdb_.py <<'PYTHON'
import lmdb, sys
environment = lmdb.open(sys.argv[1])
with environment.begin(write=True) as transaction:
    transaction.put(b"key", b"value")
with environment.begin() as transaction:
    print(transaction.get(b"key").decode())
PYTHON
for engine in leveldb lmdb; do
  program=$engine.py
  [[ $engine == leveldb ]] || program=lmdb_.py
  same "$(code mergedb doctor -- python3 $program /tmp/$engine-own)" 1
  has "$(cat said)" "mergedb is not in use"
  has "$(cat said)" "LD_LIBRARY_PATH=$(echo /usr/lib/*/mergedb) python3 $program"
  same "$(code mergedb doctor -- mergedb-run python3 $program /tmp/$engine-replaced)" 0
  has "$(cat said)" "mergedb is in use: it answers the calls of"
  same "$(mergedb get /tmp/$engine-replaced key)" value
  same "$(mergedb-run python3 $program /tmp/$engine-replaced)" value
done
has "$(mergedb doctor)" "libleveldb.so.1d is mergedb"

step "The library: C and C++, by pkg-config and CMake, shared and static"
apt install --no-install-recommends ./packages/libmergedb0_*.deb ./packages/libmergedb-dev_*.deb g++ cmake make pkg-config
# shellcheck disable=SC2046
g++ -std=c++20 ten_lines.cc -o ten_lines $(pkg-config --cflags --libs mergedb)
has "$(./ten_lines /tmp/ten)" "fruit:apple is green"
has "$(ldd ten_lines)" libmergedb.so.0
# shellcheck disable=SC2046
g++ -std=c++20 ten_lines.cc -o ten_static $(pkg-config --cflags mergedb) $(pkg-config --static --libs mergedb | sed 's/-lmergedb/-l:libmergedb.a/')
has "$(./ten_static /tmp/ten-static)" "fruit:apple is green"
has "$(mergedb doctor -- ./ten_lines /tmp/ten)" "mergedb is in use by its own interface"
mkdir c && cp consumer.c c/ && cp c_only.cmake c/CMakeLists.txt
cmake -S c -B c/build >cmake.log 2>&1 && cmake --build c/build >>cmake.log 2>&1 || { tail -n 20 cmake.log >&2; fail "find_package(mergedb)"; }
for program in c/build/consumer-mergedb c/build/consumer-static; do has "$($program)" "$(mergedb --version | cut -d' ' -f2)"; done

if compgen -G '*.whl' >/dev/null; then
  step "The wheel in a virtual environment, without a network"
  apt install --no-install-recommends python3-venv
  python3 -m venv venv
  began=$(date +%s%N)
  venv/bin/pip install --quiet --no-index ./*.whl
  same "$(venv/bin/python -c 'import mergedb_kv
with mergedb_kv.open("/tmp/wheel") as db:
    db[b"a"] = b"1"
    print(dict(db))')" "{b'a': b'1'}"
  echo "From pip install to the answer: $((($(date +%s%N) - began) / 1000000)) ms"
  same "$(mergedb get /tmp/wheel a)" 1
fi

step "Removal leaves nothing, and the programs go back to the system's libraries"
apt purge 'mergedb-*' 'libmergedb*'
left=$(ours)
same "$left" ""
same "$(sha256sum /usr/lib/*/libleveldb.so.1d /usr/lib/*/liblmdb.so.0)" "$before"
same "$(python3 leveldb.py /tmp/leveldb-own)" value
printf '\nThe packages were installed, used and removed on Debian %s.\n' "$(cat /etc/debian_version)"
