// A cursor over the keys of a database, as of one moment, in the comparator's order, in both directions.
//
//     auto it = db->NewIterator({.prefix = "user:"});
//     for (it->SeekToFirst(); it->Valid(); it->Next()) Use(it->key(), it->value());
//     if (!it->status().ok()) ...            // the loop ends at an error as it does at the end
//
// A key whose value cannot be read (its merge operands cannot be applied, its operator is missing, or its bytes in a value file
// are damaged) ends that loop like any error. Such an error is of one key: failed_key() names it, and Next and Prev go on from
// it. A loop that takes what is whole:
//
//     for (it->SeekToFirst(); it->Valid() || it->failed_key(); it->Next()) {
//       if (it->Valid()) Use(it->key(), it->value());
//       else Report(*it->failed_key(), it->status());
//     }
//     if (!it->status().ok()) ...            // an error that is not of one key
//
// key() and value() are views that live until the cursor moves. Next and Prev on a cursor that is not Valid and has no
// failed_key() do nothing. A cursor may outlive its database's Close: it is then not Valid and its status is ShuttingDown.
// THREADS: not for use by two threads at once.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "mergedb/keyspace.h"
#include "mergedb/options.h"
#include "mergedb/status.h"

namespace mergedb {

struct IteratorOptions {
  std::optional<std::string> lower = {};  // smallest key shown
  std::optional<std::string> upper = {};  // first key not shown
  // Only keys that begin with these bytes. Bytewise comparator only; combines with the bounds.
  std::string prefix = {};
  // Values are empty views and are not read: fast where values are large.
  bool keys_only = false;
  ReadOptions read = {};
  Keyspace keyspace = {};
};

class MERGEDB_EXPORT Iterator {
 public:
  virtual ~Iterator();

  virtual bool Valid() const = 0;
  virtual void SeekToFirst() = 0;
  virtual void SeekToLast() = 0;
  virtual void Seek(std::string_view target) = 0;         // first key at or after target
  virtual void SeekForPrev(std::string_view target) = 0;  // last key at or before target
  virtual void Next() = 0;
  virtual void Prev() = 0;
  virtual std::string_view key() const = 0;    // REQUIRES: Valid()
  virtual std::string_view value() const = 0;  // REQUIRES: Valid()
  virtual const Status& status() const = 0;
  // The key whose value cannot be read, if that is why the cursor is not Valid; status() says what is wrong with it. None: the
  // cursor is Valid, at an end, or has an error after which only a seek goes on. The view lives until the cursor moves.
  // An iterator with keys_only reads no values and has no failed keys.
  virtual std::optional<std::string_view> failed_key() const;
};

}  // namespace mergedb
