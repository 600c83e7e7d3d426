// Destructors and defaults of public interfaces that have no other code in the library: one place keeps their vtables.
#include "mergedb/iterator.h"
#include "mergedb/snapshot.h"
#include "mergedb/write_batch.h"

namespace mergedb {

Snapshot::~Snapshot() = default;
Iterator::~Iterator() = default;
std::optional<std::string_view> Iterator::failed_key() const { return std::nullopt; }
WriteBatch::Visitor::~Visitor() = default;

}  // namespace mergedb
