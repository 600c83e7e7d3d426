// Which of a database's ordered maps a call is about. A value: copied, compared, kept as long as one likes.
//
//     auto users = db->CreateKeyspace("users", {.may_exist = true});
//     if (!users) return Fail(users.error());
//     Status status = db->Put({}, *users, "alice", "...");
//
// Every database has the default one, which calls that name none mean. Calls that take another one say so by a parameter of
// this type, behind the options. A batch or a transaction may write to any number of them, and is atomic across all.
//
// A keyspace costs an entry in a catalog, no file and no memory of its own: all share one log and one tree, in which the keys
// of a named one begin with 2 to 6 bytes that say so (docs/decisions/0024-keyspaces-by-prefix.md).
// Creating and dropping are writes like others: atomic, in the log's order, as durable as they ask for, and seen by snapshots as
// of their time. Dropping is one range delete, however much there is; the space comes back in the background. What was read
// from a dropped keyspace stays readable under older snapshots; newer reads find nothing in it, and writes are refused.
//
// Keyspaces need a database with the bytewise comparator, and have it themselves; anything else is NotSupported. For another order
// encode keys so that their bytes compare as they should: docs/api/cpp.md.
#pragma once

#include <cstdint>
#include <string>

#include "mergedb/comparator.h"
#include "mergedb/options.h"

namespace mergedb {

class Keyspace {
 public:
  constexpr Keyspace() = default;  // the default one
  // The engine makes these; one that it did not make is InvalidArgument wherever it is used.
  constexpr explicit Keyspace(uint32_t id) : id_(id) {}

  constexpr uint32_t id() const { return id_; }  // never used twice in the life of a database; 0 is the default one
  constexpr bool is_default() const { return id_ == 0; }
  friend constexpr bool operator==(Keyspace a, Keyspace b) { return a.id_ == b.id_; }

 private:
  uint32_t id_ = 0;
};

inline constexpr size_t kKeyspaceNameBytesMax = 1024;

struct KeyspaceOptions {
  // If there is one of this name, that is the result; else that is InvalidArgument.
  bool may_exist = false;
  const Comparator* comparator = BytewiseComparator();  // any other is NotSupported
  WriteOptions write = {};                              // how durable the creation is; of DB::CreateKeyspace only
};

// What ListKeyspaces tells.
struct KeyspaceEntry {
  std::string name;
  Keyspace keyspace;
};

}  // namespace mergedb
