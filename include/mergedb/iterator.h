// An iterator over the keys of a keyspace, as of one moment, in the comparator's order, in both directions.
//
//     auto it = db->NewIterator({.prefix = "user:"});
//     for (it->SeekToFirst(); it->Valid(); it->Next()) Use(it->key(), it->value());
//     if (!it->status().ok()) ...            // the loop ends at an error as it does at the end
//
// The value of a key may be unreadable: its merge operands cannot be applied, its merge operator is missing,
// or its bytes in a blob file are damaged. Such a key ends the loop like any error. The error concerns this
// key alone: failed_key() names the key, and Next and Prev continue from it. A loop that reads all intact keys:
//
//     for (it->SeekToFirst(); it->Valid() || it->failed_key(); it->Next()) {
//       if (it->Valid()) Use(it->key(), it->value());
//       else Report(*it->failed_key(), it->status());
//     }
//     if (!it->status().ok()) ...            // an error that does not concern one key alone, such as Busy
//
// key() and value() are views that are valid until the iterator moves. On an iterator that is not Valid and
// has no failed_key(), Next and Prev do nothing. An iterator may outlive the Close of its database: then it
// is not Valid and its status is ShuttingDown. An open iterator keeps the files of its state on disk.
// THREADS: one thread at a time.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "mergedb/keyspace.h"
#include "mergedb/options.h"
#include "mergedb/status.h"

namespace mergedb {

struct IteratorOptions {
  std::optional<std::string> lower = {};  // inclusive lower bound; without a value: no bound
  std::optional<std::string> upper = {};  // exclusive upper bound; without a value: no bound
  // Show only keys that begin with these bytes. Requires the bytewise comparator. May be combined with the bounds.
  std::string prefix = {};
  // value() is always empty and values are not read. This is faster where values are large.
  bool keys_only = false;
  ReadOptions read = {};
  Keyspace keyspace = {};
};

class MERGEDB_EXPORT Iterator {
 public:
  virtual ~Iterator();

  // True if the iterator stands at a key. A new iterator is not Valid: seek first.
  virtual bool Valid() const = 0;
  virtual void SeekToFirst() = 0;
  virtual void SeekToLast() = 0;
  virtual void Seek(std::string_view target) = 0;         // to the first key at or after `target`
  virtual void SeekForPrev(std::string_view target) = 0;  // to the last key at or before `target`
  virtual void Next() = 0;
  virtual void Prev() = 0;
  virtual std::string_view key() const = 0;    // REQUIRES: Valid()
  virtual std::string_view value() const = 0;  // REQUIRES: Valid()
  // OK, or the error that made the iterator not Valid. OK at an end.
  virtual const Status& status() const = 0;
  // The key whose value cannot be read, if this is why the iterator is not Valid; status() has the error.
  // Without a value: the iterator is Valid, or at an end, or has an error after which only a seek continues.
  // The view is valid until the iterator moves. An iterator with keys_only reads no values and has no failed keys.
  virtual std::optional<std::string_view> failed_key() const;
};

}  // namespace mergedb
