// A cursor over the keys that a transaction sees: the database as of the transaction's start, and the
// transaction's own writes. It moves in both directions. The transaction may write and delete keys under a
// cursor, through this cursor or by other calls.
//
//     auto cursor = transaction->OpenCursor();
//     for (Status s = cursor->First(); s.ok(); s = cursor->Next()) Use(cursor->key(), cursor->value());
//
// A move returns OK if the cursor stands at a key. It returns NotFound if there is no key in that direction,
// else an error. The positions are those of LMDB:
//
//  fresh   The cursor has no position yet. Next acts as First, Prev acts as Last. Current, Put and Delete return
//          InvalidArgument.
//  at      The cursor stands at a key. Next at the last key and Prev at the first key return NotFound; the cursor
//          stays where it is.
//  gap     The cursor stands between two keys: its key was deleted, by this cursor or by another write. Next and
//          Current go to the key after the gap, Prev goes to the key before it. Delete deletes the key after the
//          gap. So a loop of Next and Delete skips no key.
//  end     The cursor stands in a gap after the last key. Set and SetRange that find no key leave it there. Current
//          and Next return NotFound, Prev acts as Last.
//
// After an error (a key that cannot be read) the cursor is fresh.
//
// Every open cursor of a transaction sees each write of the transaction at its next move, not earlier. key()
// and value() are views. They are valid until the cursor moves, or the transaction writes or ends. After the
// end of the transaction every call returns Aborted. A cursor may outlive its transaction.
// The read set of an optimistic transaction contains every range that its cursors moved over: the keys, and
// the absence of keys between them.
//
// THREADS: one thread at a time. Calls on a cursor must not run at the same time as other calls on its transaction.
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
  // Moves to this key. If the key is absent: NotFound, and the cursor stands at the first key after it, or at the end.
  virtual Status Set(std::string_view key) = 0;
  virtual Status SetRange(std::string_view key) = 0;  // to the first key at or after `key`
  // To the last key at or before `key`. If there is none: NotFound, and the cursor stands at the first key.
  virtual Status SetForPrev(std::string_view key) = 0;
  // Stays at its key; from a gap it moves to the key after the gap. After a write it makes key() and value()
  // valid again.
  virtual Status Current() = 0;

  // True if key() and value() may be called. False when fresh, in a gap, at the end, and after a write until
  // the next move.
  virtual bool Valid() const = 0;
  virtual std::string_view key() const = 0;    // REQUIRES: Valid()
  virtual std::string_view value() const = 0;  // REQUIRES: Valid()

  // Sets the value of the key at which the cursor stands. The cursor stays there. In a gap or at the end: NotFound.
  virtual Status Put(std::string_view value) = 0;
  // Deletes the key at which the cursor stands, or the key after the gap. Then the cursor stands in the gap
  // that the key leaves.
  virtual Status Delete() = 0;

  virtual Keyspace keyspace() const = 0;

 protected:
  Cursor() = default;
};

}  // namespace mergedb
