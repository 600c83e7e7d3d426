// A DB over one keyspace of another database. The callers use it as if they used the default keyspace. Two forms:
// the keyspace is a named one, or it is the default one beside a named one. Put, Delete and Merge also put a key of
// less than 1000 bytes into the other keyspace, which must change no answer. So every test that takes a DB can also
// run in these two forms.
#pragma once

#include <memory>

#include "mergedb/db.h"

namespace mergedb::testing {

enum class Tenancy : uint8_t { kNamed, kBesideNamed };

// Returns `whole` itself if it cannot have keyspaces (its comparator is not the bytewise one).
std::unique_ptr<DB> NewKeyspaceDb(std::unique_ptr<DB> whole, Tenancy tenancy);

}  // namespace mergedb::testing
