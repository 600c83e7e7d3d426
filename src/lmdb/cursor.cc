// Cursors. The positions are those of include/mergedb/cursor.h, which equal LMDB's. This file adds LMDB's
// refusals, the two transformations of keys, and returned bytes that stay valid.
#include <algorithm>
#include <cerrno>
#include <utility>

#include "lmdb/handles.h"

namespace mergedb::lmdb {

namespace {

// Checks that the cursor and its transaction can be used. After the reader was renewed, makes the cursor anew.
int CheckCursor(MDB_cursor* cursor) {
  if (cursor == nullptr || cursor->txn == nullptr) return EINVAL;
  LMDB_RETURN_IF_ERROR(CheckTxn(cursor->txn));
  if (!cursor->slot->is_open) return EINVAL;
  LMDB_RETURN_IF_ERROR(CheckOrder(*cursor->slot));
  if (cursor->cursor == nullptr) [[unlikely]]
    cursor->cursor = cursor->txn->transaction().NewCursor(cursor->slot->keyspace);
  return 0;
}

bool IsOfDuplicates(MDB_cursor_op op) {
  switch (op) {
    case MDB_FIRST_DUP:
    case MDB_LAST_DUP:
    case MDB_GET_BOTH:
    case MDB_GET_BOTH_RANGE:
    case MDB_GET_MULTIPLE:
    case MDB_NEXT_MULTIPLE:
    case MDB_PREV_MULTIPLE: return true;
    default: return false;
  }
}

bool IsSeek(MDB_cursor_op op) { return op == MDB_SET || op == MDB_SET_KEY || op == MDB_SET_RANGE; }

bool IsMove(MDB_cursor_op op) {
  switch (op) {
    case MDB_FIRST:
    case MDB_LAST:
    case MDB_NEXT:
    case MDB_NEXT_DUP:
    case MDB_NEXT_NODUP:
    case MDB_PREV:
    case MDB_PREV_DUP:
    case MDB_PREV_NODUP: return true;
    default: return false;
  }
}

// LMDB's answer to an operation on duplicates in a database without duplicates. Some operations check the
// position first.
int RefuseDuplicates(const MDB_cursor* cursor, const MDB_val* data, MDB_cursor_op op) {
  const bool needs_place = op == MDB_FIRST_DUP || op == MDB_LAST_DUP || op == MDB_GET_MULTIPLE;
  return data == nullptr || (needs_place && !cursor->is_placed) ? EINVAL : MDB_INCOMPATIBLE;
}

// A cursor over the list of free pages, which is always empty.
int GetOfFreeList(const MDB_cursor* cursor, const MDB_val* key, const MDB_val* data, MDB_cursor_op op) {
  if (cursor->txn == nullptr) return EINVAL;
  LMDB_RETURN_IF_ERROR(CheckTxn(cursor->txn));
  if (IsOfDuplicates(op)) return RefuseDuplicates(cursor, data, op);
  if (IsSeek(op)) {
    if (key == nullptr) return EINVAL;
    LMDB_RETURN_IF_ERROR(CheckWantedKey(key));
    return MDB_NOTFOUND;
  }
  return IsMove(op) ? MDB_NOTFOUND : EINVAL;
}

enum class Gives : uint8_t { kData, kBoth };

// True if the database could not be read. NotFound is an answer, and so is InvalidArgument, for a cursor that
// stands nowhere.
bool HasFailed(const Status& status) { return !status.ok() && !status.IsNotFound() && !status.IsInvalidArgument(); }

std::string KeyOfEnd() { return std::string(kKeyBytesMax + 1, '\xff'); }

void Arrive(MDB_cursor* cursor) {
  cursor->is_placed = true;
  cursor->is_in_gap = cursor->is_anchored = cursor->is_pending = false;
  if (!cursor->is_read_only) cursor->key.assign(cursor->cursor->key());  // a reader's items are never deleted
}

void Give(MDB_cursor* cursor, MDB_val* key, MDB_val* data, Gives gives) {
  Root& root = *cursor->txn->root;
  if (key != nullptr && gives == Gives::kBoth) {
    *key = root.Give(StoredKey(*cursor->slot, cursor->cursor->key(), &root.key_scratch));
  }
  if (data != nullptr) *data = root.Give(cursor->cursor->value());
}

// Call if no item is at or behind `stored`: the cursor then stands behind all items, or nowhere if the database
// is empty. After an error the cursor is pending at the end.
Status StayAtEnd(MDB_cursor* cursor, std::string_view stored) {
  const std::string key(stored);
  Status status = cursor->cursor->First();
  if (!HasFailed(status)) {
    cursor->is_placed = cursor->is_in_gap = status.ok();
    cursor->is_anchored = false;
    if (!status.ok()) return status;
    status = cursor->cursor->SetRange(key);
  }
  if (HasFailed(status)) {
    cursor->is_pending = true;
    cursor->key = KeyOfEnd();
  }
  return status;
}

Status Seek(MDB_cursor* cursor, const MDB_val* key, MDB_cursor_op op) {
  const std::string_view stored = StoredKey(*cursor->slot, ToStringView(*key), &cursor->txn->root->key_scratch);
  const Status status = op == MDB_SET_RANGE ? cursor->cursor->SetRange(stored) : cursor->cursor->Set(stored);
  cursor->is_in_gap = cursor->is_anchored = cursor->is_pending = false;
  if (cursor->cursor->Valid()) Arrive(cursor);
  return status.IsNotFound() && !cursor->cursor->Valid() ? StayAtEnd(cursor, stored) : status;
}

// Moves a pending cursor to its key. If the key was deleted meanwhile, the cursor is in the gap, anchored at
// the item behind. After an error the cursor stays pending.
Status ResolvePending(MDB_cursor* cursor) {
  if (!cursor->is_pending) return {};
  if (cursor->cursor == nullptr) cursor->cursor = cursor->txn->transaction().NewCursor(cursor->slot->keyspace);
  Status status = cursor->cursor->Set(cursor->key);
  if (HasFailed(status)) return status;
  cursor->is_pending = false;
  cursor->is_in_gap = cursor->is_anchored = cursor->cursor->Valid() && (cursor->is_anchored || !status.ok());
  // WHY: a delete of the key that the cursor has left must not move it.
  if (cursor->is_anchored) cursor->key.assign(cursor->cursor->key());
  if (!status.ok() && !cursor->is_in_gap) status = StayAtEnd(cursor, cursor->key);
  return HasFailed(status) ? status : Status();
}

// As in LMDB: if the database has become empty, a cursor that stood somewhere stands nowhere.
Status Current(MDB_cursor* cursor) {
  const Status status = cursor->cursor->Current();
  if (status.IsInvalidArgument()) cursor->is_placed = cursor->is_in_gap = false;
  if (!status.IsNotFound() || cursor->is_read_only) return status;
  if (const Status end = StayAtEnd(cursor, KeyOfEnd()); HasFailed(end)) return end;
  return cursor->is_placed ? status : Status::InvalidArgument("the cursor has no position");
}

// An anchored cursor already stands at the item behind the gap, which is the next one.
Status MoveNext(MDB_cursor* cursor) { return cursor->is_anchored ? cursor->cursor->Current() : cursor->cursor->Next(); }

// If no item is before the gap, the cursor moves to the item behind it.
Status MovePrev(MDB_cursor* cursor) {
  const bool was_in_gap = cursor->is_in_gap;
  const Status status = cursor->cursor->Prev();
  if (!status.IsNotFound() || !was_in_gap) return status;
  const Status behind = cursor->cursor->Current();
  if (behind.ok()) Arrive(cursor);
  return HasFailed(behind) ? behind : status;
}

Status Move(MDB_cursor* cursor, MDB_cursor_op op) {
  switch (op) {
    case MDB_FIRST: return cursor->cursor->First();
    case MDB_LAST: return cursor->cursor->Last();
    case MDB_NEXT_DUP: return cursor->is_in_gap ? Status::NotFound("") : MoveNext(cursor);
    case MDB_NEXT:
    case MDB_NEXT_NODUP: return MoveNext(cursor);
    case MDB_PREV:
    case MDB_PREV_NODUP:
    case MDB_PREV_DUP: return MovePrev(cursor);
    default: return Current(cursor);
  }
}

// True if the result of the operation depends on the position of the cursor.
bool NeedsPlace(MDB_cursor_op op) { return !IsSeek(op) && op != MDB_FIRST && op != MDB_LAST; }

// The next item of a reader. Its cursors have no gaps and are not pending here.
int Step(MDB_cursor* cursor, MDB_val* key, MDB_val* data) {
  LMDB_RETURN_IF_ERROR(CheckCursor(cursor));
  if (const Status status = cursor->cursor->Next(); !status.ok()) [[unlikely]]
    return CodeOf(status);
  Arrive(cursor);
  Give(cursor, key, data, Gives::kBoth);
  return 0;
}

[[gnu::noinline]] int Get(MDB_cursor* cursor, MDB_val* key, MDB_val* data, MDB_cursor_op op) {
  if (cursor != nullptr && cursor->dbi == kFreeDbi) return GetOfFreeList(cursor, key, data, op);
  LMDB_RETURN_IF_ERROR(CheckCursor(cursor));
  if (const Status status = ResolvePending(cursor); !status.ok() && NeedsPlace(op)) return CodeOf(status);
  if (IsOfDuplicates(op)) {
    const Status left = cursor->is_in_gap ? Current(cursor) : Status();  // in an empty database it stands nowhere
    if (HasFailed(left)) return CodeOf(left);
    return RefuseDuplicates(cursor, data, op);
  }
  if (IsSeek(op)) {
    if (key == nullptr) return EINVAL;
    LMDB_RETURN_IF_ERROR(CheckWantedKey(key));
    if (const Status status = Seek(cursor, key, op); !status.ok()) return CodeOf(status);
    Give(cursor, key, data, op == MDB_SET ? Gives::kData : Gives::kBoth);
    return 0;
  }
  if (!IsMove(op) && op != MDB_GET_CURRENT) return EINVAL;
  if (const Status status = Move(cursor, op); !status.ok()) return CodeOf(status);
  Arrive(cursor);
  Give(cursor, key, data, Gives::kBoth);
  return 0;
}

// MDB_CURRENT: replaces the value of the current key. LMDB requires that the program passes the same key; the
// passed key is ignored.
int PutCurrent(MDB_cursor* cursor, MDB_val* data) {
  LMDB_RETURN_IF_ERROR(CodeOf(ResolvePending(cursor)));
  if (const Status status = Current(cursor); !status.ok()) return CodeOf(status);
  std::string scratch;
  const std::string key(StoredKey(*cursor->slot, cursor->cursor->key(), &scratch));
  MDB_val same = {key.size(), const_cast<char*>(key.data())};
  return PutItem(cursor->txn, cursor->dbi, &same, data, 0);
}

int CheckCursorWritable(MDB_cursor* cursor) {
  if (cursor == nullptr) return EINVAL;
  if (cursor->is_read_only) return EACCES;
  return CheckCursor(cursor);
}

}  // namespace

void AnchorGaps(MDB_txn* txn, MDB_dbi dbi) {
  for (MDB_txn* each = txn; each != nullptr; each = each->parent) {
    for (MDB_cursor* cursor : each->cursors) {
      if (cursor->dbi != dbi || !cursor->is_in_gap || cursor->is_anchored) continue;
      // After an error the cursor stays pending, and its next call tries again.
      if (cursor->is_pending) {
        (void)ResolvePending(cursor);
        continue;
      }
      // At the end there is no item to anchor to, and a new key there lies before the cursor. In an empty
      // database, LMDB's cursors stand nowhere.
      if (const Status status = cursor->cursor->Current(); status.ok()) {
        cursor->key.assign(cursor->cursor->key());
        cursor->is_anchored = true;
      } else if (status.IsNotFound()) {
        (void)StayAtEnd(cursor, KeyOfEnd());
      } else if (HasFailed(status)) {
        cursor->is_pending = true;
      }
    }
  }
}

void ForgetPlaces(MDB_txn* txn, MDB_dbi dbi) {
  for (MDB_txn* each = txn; each != nullptr; each = each->parent) {
    for (MDB_cursor* cursor : each->cursors) {
      if (cursor->dbi != dbi) continue;
      cursor->is_placed = cursor->is_in_gap = cursor->is_anchored = cursor->is_pending = false;
      cursor->cursor = nullptr;
    }
  }
}

std::vector<KeptPlace> KeepPlaces(MDB_txn* txn) {
  std::vector<KeptPlace> kept;
  for (MDB_txn* each = txn; each != nullptr; each = each->parent) {
    for (MDB_cursor* cursor : each->cursors) {
      AnchorGaps(txn, cursor->dbi);
      const bool is_at_end = cursor->is_in_gap && !cursor->is_anchored && !cursor->is_pending;
      kept.push_back({.cursor = cursor,
                      .is_placed = cursor->is_placed,
                      .is_anchored = cursor->is_anchored,
                      .key = is_at_end ? KeyOfEnd() : cursor->key});
    }
  }
  return kept;
}

void RestorePlaces(MDB_txn* txn, std::vector<KeptPlace>* kept) {
  for (MDB_txn* each = txn; each != nullptr; each = each->parent) {
    for (MDB_cursor* cursor : each->cursors) {
      const auto place = std::ranges::find(*kept, cursor, &KeptPlace::cursor);
      if (place == kept->end()) continue;
      cursor->is_placed = cursor->is_pending = place->is_placed;
      cursor->is_in_gap = cursor->is_anchored = place->is_anchored;
      cursor->key.swap(place->key);
      cursor->cursor = nullptr;
    }
  }
}

void RestCursor(MDB_cursor* cursor) {
  if (cursor->cursor == nullptr) return;
  if (cursor->is_placed && !cursor->is_pending) {
    cursor->is_pending = true;
    cursor->is_in_gap = cursor->is_anchored = false;
    cursor->key = cursor->cursor->Valid() ? std::string(cursor->cursor->key()) : KeyOfEnd();
  }
  cursor->cursor = nullptr;
}

void NoteDeleted(MDB_txn* txn, MDB_dbi dbi, std::string_view stored_key) {
  for (MDB_txn* each = txn; each != nullptr; each = each->parent) {
    for (MDB_cursor* cursor : each->cursors) {
      if (cursor->dbi == dbi && cursor->is_placed && cursor->key == stored_key) {
        const bool was_pending = cursor->is_pending;
        cursor->is_in_gap = true;
        cursor->is_anchored = false;
        // WHY now: the item behind is still the right one. After an error AnchorGaps tries again.
        if (was_pending) (void)ResolvePending(cursor);
      }
    }
  }
}

}  // namespace mergedb::lmdb

using namespace mergedb::lmdb;
using mergedb::Status;

int mdb_cursor_open(MDB_txn* txn, MDB_dbi dbi, MDB_cursor** cursor) {
  return Guard([&]() -> int {
    if (cursor == nullptr || txn == nullptr) return EINVAL;
    const bool is_free_list = dbi == kFreeDbi && txn->is_read_only();  // LMDB refuses a writer
    LMDB_RETURN_IF_ERROR(is_free_list ? CheckTxn(txn) : CheckDbi(txn, dbi));
    auto made = std::make_unique<MDB_cursor>();
    made->txn = txn;
    made->dbi = dbi;
    made->slot = &txn->env->slots[dbi];
    made->is_read_only = txn->is_read_only();
    if (!is_free_list) made->cursor = txn->transaction().NewCursor(made->slot->keyspace);
    txn->cursors.push_back(made.get());
    *cursor = made.release();
    return 0;
  });
}

void mdb_cursor_close(MDB_cursor* cursor) {
  if (cursor == nullptr) return;
  if (cursor->txn != nullptr) std::erase(cursor->txn->cursors, cursor);
  delete cursor;
}

int mdb_cursor_renew(MDB_txn* txn, MDB_cursor* cursor) {
  return Guard([&]() -> int {
    if (cursor == nullptr || !cursor->is_read_only || txn == nullptr || !txn->is_read_only()) return EINVAL;
    const bool is_free_list = cursor->dbi == kFreeDbi;
    LMDB_RETURN_IF_ERROR(is_free_list ? CheckTxn(txn) : CheckDbi(txn, cursor->dbi));
    if (cursor->txn != nullptr) std::erase(cursor->txn->cursors, cursor);
    cursor->txn = txn;
    cursor->is_placed = cursor->is_in_gap = cursor->is_anchored = cursor->is_pending = false;
    cursor->slot = &txn->env->slots[cursor->dbi];
    cursor->cursor = is_free_list ? nullptr : txn->transaction().NewCursor(cursor->slot->keyspace);
    txn->cursors.push_back(cursor);
    return 0;
  });
}

MDB_txn* mdb_cursor_txn(MDB_cursor* cursor) { return cursor == nullptr ? nullptr : cursor->txn; }
MDB_dbi mdb_cursor_dbi(MDB_cursor* cursor) { return cursor == nullptr ? 0 : cursor->dbi; }

int mdb_cursor_get(MDB_cursor* cursor, MDB_val* key, MDB_val* data, MDB_cursor_op op) {
  return Guard([&]() -> int {
    const bool is_step = op == MDB_NEXT && cursor != nullptr && cursor->is_read_only && cursor->cursor != nullptr &&
                         !cursor->is_pending && !cursor->is_anchored;
    return is_step ? Step(cursor, key, data) : Get(cursor, key, data, op);
  });
}

int mdb_cursor_put(MDB_cursor* cursor, MDB_val* key, MDB_val* data, unsigned int flags) {
  return Guard([&]() -> int {
    if (cursor == nullptr || key == nullptr || data == nullptr) return EINVAL;
    if (flags & MDB_MULTIPLE) return MDB_INCOMPATIBLE;
    LMDB_RETURN_IF_ERROR(CheckCursorWritable(cursor));
    if (flags == MDB_CURRENT) return PutCurrent(cursor, data);
    std::string scratch;
    // WHY now: the key may lie in the arena, which PutItem clears.
    std::string stored(StoredKey(*cursor->slot, ToStringView(*key), &scratch));
    const int code = PutItem(cursor->txn, cursor->dbi, key, data, flags);
    if (code != 0 && code != MDB_KEYEXIST) return code;
    cursor->is_placed = true;
    cursor->is_in_gap = cursor->is_anchored = false;
    if (code != 0 && (flags & MDB_APPEND)) {  // PutItem read the last item
      cursor->is_pending = false;
      const Status moved = cursor->cursor->Last();
      if (cursor->cursor->Valid()) Arrive(cursor);
      return moved.ok() ? code : CodeOf(moved);
    }
    cursor->is_pending = true;
    cursor->key = std::move(stored);
    return code;
  });
}

int mdb_cursor_del(MDB_cursor* cursor, unsigned int) {
  return Guard([&]() -> int {
    LMDB_RETURN_IF_ERROR(CheckCursorWritable(cursor));
    LMDB_RETURN_IF_ERROR(CodeOf(ResolvePending(cursor)));
    if (const Status status = Current(cursor); !status.ok()) return CodeOf(status);
    const std::string stored(cursor->cursor->key());
    LMDB_RETURN_IF_ERROR(RefuseDeleteOfName(cursor->txn, cursor->dbi, stored));
    cursor->key = stored;
    if (const Status status = cursor->cursor->Delete(); !status.ok()) return WriteFailed(cursor->txn, status);
    CountChange(cursor->txn, cursor->dbi, -1);
    NoteDeleted(cursor->txn, cursor->dbi, stored);
    cursor->txn->root->arena.Clear();
    return 0;
  });
}

int mdb_cursor_count(MDB_cursor* cursor, size_t* countp) {
  if (cursor == nullptr || countp == nullptr) return EINVAL;
  return MDB_INCOMPATIBLE;
}
