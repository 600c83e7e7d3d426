// A place among the keys that a transaction sees: the database as of its start, and its own writes. Moves in both
// directions; keys may be written and deleted under it, through it or beside it.
//
//     auto cursor = transaction->OpenCursor();
//     for (Status s = cursor->First(); s.ok(); s = cursor->Next()) Use(cursor->key(), cursor->value());
//
// A move returns OK and the cursor stands at a key, or NotFound because there is none that way, or an error. The positions
// are LMDB's:
//
//   fresh   nowhere yet. Next is First, Prev is Last; Current, Put and Delete are InvalidArgument.
//   at      a key. Next of the last key and Prev of the first are NotFound, and leave the cursor where it is.
//   gap     between two keys: where it stood at a key that has been deleted, by this cursor or otherwise. Next and Current go
//           to the key behind the gap, Prev to the one before it; Delete deletes the one behind it. So a loop of Next and
//           Delete skips nothing.
//   end     a gap behind the last key, where Set and SetRange leave it that find no key. Current and Next are NotFound,
//           Prev is Last.
//
// After an error (a key that cannot be read) the cursor is fresh.
//
// Every open cursor of a transaction sees each write of the transaction at its next move, and its next move alone. key()
// and value() are views that live until the cursor moves, or the transaction writes or ends. When the transaction has ended
// all calls return Aborted; a cursor may outlive it.
// An optimistic transaction has read what its cursors moved over: every key, and that there is nothing between them.
//
// THREADS: not for use by two threads at once, nor together with other calls on its transaction.
#pragma once

#include <string_view>

#include "mergedb/export.h"
#include "mergedb/keyspace.h"
#include "mergedb/status.h"

namespace mergedb {

class MERGEDB_EXPORT Cursor {
 public:
  virtual ~Cursor();
  Cursor(const Cursor&) = delete;
  Cursor& operator=(const Cursor&) = delete;

  virtual Status First() = 0;
  virtual Status Last() = 0;
  virtual Status Next() = 0;
  virtual Status Prev() = 0;
  // To this key; NotFound if it is not there, and the cursor stands at the first key after it, or the end.
  virtual Status Set(std::string_view key) = 0;
  virtual Status SetRange(std::string_view key) = 0;  // to the first key at or after this one
  virtual Status SetForPrev(
      std::string_view key) = 0;  // to the last key at or before this one; none: to the first key, NotFound
  // Where it stands; in a gap it moves to the key behind it. Brings key() and value() back after a write.
  virtual Status Current() = 0;

  // Does key() have a meaning? False when fresh, in a gap, at the end, and after a write until the next move.
  virtual bool Valid() const = 0;
  virtual std::string_view key() const = 0;    // REQUIRES: Valid()
  virtual std::string_view value() const = 0;  // REQUIRES: Valid()

  // Set the value of the key where it stands; the cursor stays. In a gap or at the end: NotFound.
  virtual Status Put(std::string_view value) = 0;
  // Delete the key where it stands; the cursor is then in the gap that this leaves.
  virtual Status Delete() = 0;

  virtual Keyspace keyspace() const = 0;

 protected:
  Cursor() = default;
};

}  // namespace mergedb
