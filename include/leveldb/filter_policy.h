// Summaries of sets of keys, which spare reads of tables that cannot hold a key. A program may supply its own; its
// methods are called from several threads at once.
#ifndef STORAGE_LEVELDB_INCLUDE_FILTER_POLICY_H_
#define STORAGE_LEVELDB_INCLUDE_FILTER_POLICY_H_

#include <string>

#include "leveldb/export.h"

namespace leveldb {

class Slice;

class LEVELDB_EXPORT FilterPolicy {
 public:
  virtual ~FilterPolicy();

  // Stored beside the filters: filters of another name are not asked. A new encoding needs a new name.
  virtual const char* Name() const = 0;

  // Append to *filter a summary of keys[0, count), which are in order and may hold duplicates. What *filter holds
  // already stays.
  virtual void CreateFilter(const Slice* keys, int count, std::string* filter) const = 0;

  // True if `key` was among the keys of `filter`; should be false for most others.
  virtual bool KeyMayMatch(const Slice& key, const Slice& filter) const = 0;
};

// A bloom filter of about so many bits a key; 10 lets 1 in 100 absent keys through. The caller deletes it, after every
// database that uses it. Not for comparators under which keys of different bytes are equal.
LEVELDB_EXPORT const FilterPolicy* NewBloomFilterPolicy(int bits_per_key);

}  // namespace leveldb

#endif  // STORAGE_LEVELDB_INCLUDE_FILTER_POLICY_H_
