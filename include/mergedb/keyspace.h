// A keyspace: one of the ordered maps of a database (RocksDB: column family, LMDB: named database). A
// Keyspace is a plain value: programs may copy, compare and keep it.
//
//     auto users = db->CreateKeyspace("users", {.may_exist = true});
//     if (!users) return Fail(users.error());
//     Status status = db->Put({}, *users, "alice", "...");
//
// Every database has the default keyspace. Calls without a Keyspace parameter use it. Other calls take the
// keyspace after the options. A batch or a transaction may write to any number of keyspaces and is atomic
// across all of them.
//
// A keyspace needs no file and no memory of its own, only an entry in the list of keyspaces. All keyspaces
// share one WAL and one tree. The keys of a named keyspace begin with a prefix of 2 to 6 bytes in the tree
// (docs/decisions/0024-keyspaces-by-prefix.md).
// Create and drop are writes: atomic, ordered by the WAL, as durable as their options ask, and visible to
// snapshots as of their time. A drop is one range delete, whatever the size of the keyspace. Compactions free
// the space later. An older snapshot can still read a dropped keyspace. New reads find no keys in it, and
// writes to it return InvalidArgument.
//
// Keyspaces require the bytewise comparator, for the database and for the keyspace; anything else returns
// NotSupported. For another order, encode the keys so that their bytes compare in that order:
// docs/api/cpp.md.
#pragma once

#include <cstdint>
#include <string>

#include "mergedb/comparator.h"
#include "mergedb/options.h"

namespace mergedb {

class Keyspace {
 public:
  constexpr Keyspace() = default;  // the default keyspace
  // Keyspaces come from the database. An id that it never gave returns InvalidArgument where it is used. The keyspace
  // of another database is not refused if this one has a keyspace of the same id.
  constexpr explicit Keyspace(uint32_t id) : id_(id) {}

  // never reused during the life of the database; 0: the default keyspace
  constexpr uint32_t id() const { return id_; }
  constexpr bool is_default() const { return id_ == 0; }
  friend constexpr bool operator==(Keyspace a, Keyspace b) { return a.id_ == b.id_; }

 private:
  uint32_t id_ = 0;
};

inline constexpr size_t kKeyspaceNameBytesMax = 1024;

struct KeyspaceOptions {
  // If the name exists, true returns the existing keyspace; false returns InvalidArgument.
  bool may_exist = false;
  const Comparator* comparator = BytewiseComparator();  // any other comparator returns NotSupported
  WriteOptions write = {};                              // durability of the creation; only DB::CreateKeyspace uses it
};

// An entry of ListKeyspaces.
struct KeyspaceEntry {
  std::string name;
  Keyspace keyspace;
};

}  // namespace mergedb
