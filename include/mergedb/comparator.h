// The order of user keys. The default is bytewise; a program may supply its own.
#pragma once

#include <string_view>

#include "mergedb/export.h"

namespace mergedb {

// THREADS: called from many threads at once, without locks held, and must be pure: the same answer for the same
// two keys for the life of the database. Must not throw.
class MERGEDB_EXPORT Comparator {
 public:
  virtual ~Comparator();

  // < 0 if a comes before b, 0 if they are the same key, > 0 otherwise. Total order.
  virtual int Compare(std::string_view a, std::string_view b) const = 0;

  // Stored in the database; opening it with a comparator of another name is InvalidArgument. Change the name when
  // the order changes. Names that begin with "mergedb." are ours.
  virtual std::string_view Name() const = 0;
};

// memcmp order, shorter first. Lives for ever. Name: "mergedb.bytewise".
MERGEDB_EXPORT const Comparator* BytewiseComparator();

}  // namespace mergedb
