// The order of user keys. The default is bytewise; a program may supply its own order.
#pragma once

#include <string_view>

#include "mergedb/export.h"

namespace mergedb {

// THREADS: many threads call it at the same time. It must be pure: the same result for the same two keys
// during the life of the database. It must not throw.
class MERGEDB_EXPORT Comparator {
 public:
  virtual ~Comparator();

  // < 0 if a comes before b, 0 if both are the same key, > 0 otherwise. The order must be total.
  virtual int Compare(std::string_view a, std::string_view b) const = 0;

  // The name is stored in the database. Open with a comparator of another name returns InvalidArgument.
  // Change the name when the order changes. Names that begin with "mergedb." are reserved.
  virtual std::string_view Name() const = 0;
};

// memcmp order, a prefix comes first. Static: it is never destroyed. Name: "mergedb.bytewise".
MERGEDB_EXPORT const Comparator* BytewiseComparator();

}  // namespace mergedb
