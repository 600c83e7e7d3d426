// An order of keys, which a program may supply. Its methods are called from several threads at once, background ones
// included.
#ifndef STORAGE_LEVELDB_INCLUDE_COMPARATOR_H_
#define STORAGE_LEVELDB_INCLUDE_COMPARATOR_H_

#include <string>

#include "leveldb/export.h"

namespace leveldb {

class Slice;

class LEVELDB_EXPORT Comparator {
 public:
  virtual ~Comparator();

  // Negative, zero or positive as `a` comes before, equals or comes after `b`. A total order.
  virtual int Compare(const Slice& a, const Slice& b) const = 0;

  // Stored with the database, which opens only with a comparator of the same name. A new order needs a new name. Names
  // that begin with "leveldb." are taken.
  virtual const char* Name() const = 0;

  // May replace *start, which comes before `limit`, by something short in [*start, limit). Doing nothing is right, too.
  virtual void FindShortestSeparator(std::string* start, const Slice& limit) const = 0;

  // May replace *key by something short at or after it. Doing nothing is right, too.
  virtual void FindShortSuccessor(std::string* key) const = 0;
};

// By unsigned bytes, as memcmp. Lives for ever: do not delete it.
LEVELDB_EXPORT const Comparator* BytewiseComparator();

}  // namespace leveldb

#endif  // STORAGE_LEVELDB_INCLUDE_COMPARATOR_H_
