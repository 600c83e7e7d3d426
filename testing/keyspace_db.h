// A database whose callers, who think that they use the default keyspace, use a named one of another database; or the other way
// round: the default one, with a named one beside it that is written to all the time. What holds for one keyspace alone must hold
// for it among others: so every test that takes a DB can be had twice more. Other keys in it change no answer.
#pragma once

#include <memory>

#include "mergedb/db.h"

namespace mergedb::testing {

enum class Tenancy : uint8_t { kNamed, kBesideNamed };

// Without keyspaces in it (another comparator than the bytewise one) the same database.
std::unique_ptr<DB> NewKeyspaceDb(std::unique_ptr<DB> whole, Tenancy tenancy);

}  // namespace mergedb::testing
