// The part of the model that says what transactions and cursors answer.
#include <algorithm>

#include "mergedb/c.h"
#include "tests/paths/handle_model.h"

namespace mergedb::testing::handles {
namespace {

using Stands = Cursor::Stands;
using Shows = Cursor::Shows;

constexpr char kFirstKey = 'a', kLastKey = 'b';

std::string Answer(int32_t code) { return mergedb_code_name(code); }

// The first key of a keyspace at or after `from`, and the last one at or before `to`; 0: none.
char KeyFrom(const Contents& contents, uint8_t keyspace, int from) {
  for (int key = from; key <= kLastKey; ++key) {
    if (contents.contains({keyspace, static_cast<char>(key)})) return static_cast<char>(key);
  }
  return 0;
}
char KeyUpTo(const Contents& contents, uint8_t keyspace, int to) {
  for (int key = to; key >= kFirstKey; --key) {
    if (contents.contains({keyspace, static_cast<char>(key)})) return static_cast<char>(key);
  }
  return 0;
}

// The keys that an optimistic transaction has seen, both ends included.
void NoteReads(Transaction& transaction, uint8_t keyspace, char from, char to) {
  if (transaction.kind != TransactionKind::kOptimistic) return;
  for (char key = from; key <= to; ++key) transaction.reads.insert({keyspace, key});
}

}  // namespace

// ---- Transactions ------------------------------------------------------------------------------------------------

int32_t Model::CheckReadable(Transaction& transaction, uint8_t keyspace) {
  if (transaction.has_ended) return MERGEDB_ABORTED;
  transaction.from_second_thread = from_second_thread_;
  if (!IsOpen(transaction.of)) return MERGEDB_SHUTTING_DOWN;
  return keyspace == kUnmadeId ? MERGEDB_INVALID_ARGUMENT : MERGEDB_OK;
}

int32_t Model::CheckWritable(Transaction& transaction, uint8_t keyspace) {
  if (transaction.has_ended) return MERGEDB_ABORTED;
  transaction.from_second_thread = from_second_thread_;
  if (transaction.kind == TransactionKind::kReadOnly) return MERGEDB_NOT_SUPPORTED;
  if (!IsOpen(transaction.of)) return MERGEDB_SHUTTING_DOWN;
  if (keyspace == kUnmadeId) return MERGEDB_INVALID_ARGUMENT;
  const auto is_in = [&](const Transaction::Write& write) { return write.place.first == keyspace; };
  const bool may_write = keyspace == 0 || keyspace == databases_[transaction.of.database].live ||
                         std::ranges::any_of(transaction.writes, is_in);
  return may_write ? MERGEDB_OK : MERGEDB_INVALID_ARGUMENT;
}

void Model::Write(Transaction& transaction, Place place, char value) {
  transaction.writes.push_back({.place = place, .value = value});
  for (Cursor& cursor : cursors_) {
    if (cursor.serial != transaction.serial || cursor.shows == Shows::kNothing) continue;
    cursor.shows = cursor.keyspace == place.first ? Shows::kNothing : Shows::kUnspecified;
  }
}

void Model::HideEntries(uint8_t serial) {
  for (Cursor& cursor : cursors_) {
    if (cursor.serial == serial) cursor.shows = Shows::kNothing;
  }
}

void Model::End(Transaction& transaction) {
  HideEntries(transaction.serial);
  for (Cursor& cursor : cursors_) {
    if (cursor.serial == transaction.serial) cursor.is_detached = true;
  }
  transaction.has_ended = true;
  transaction.savepoints.clear();
  transaction.base.clear();
  transaction.reads.clear();
  transaction.written.clear();
}

std::string Model::Begin(const Call& call, TransactionKind kind) {
  if (databases_[call.b].state != State::kOpen) return Answer(MERGEDB_BAD_HANDLE);
  if (const int32_t code = CheckSnapshot(call.c, call.b); code != MERGEDB_OK) return Answer(code);
  const bool has_snapshot = call.c != kNone && snapshots_[call.c].state == State::kOpen;
  if (has_snapshot && kind != TransactionKind::kReadOnly) return Answer(MERGEDB_INVALID_ARGUMENT);
  if (kind == TransactionKind::kSingleWriter && WriterOf(call.b) != nullptr) return Answer(MERGEDB_BUSY);
  transactions_[call.a] = {.state = State::kOpen,
                           .of = OpeningOf(call.b),
                           .kind = kind,
                           .serial = ++serials_,
                           .from_second_thread = from_second_thread_,
                           .base = has_snapshot ? snapshots_[call.c].contents : databases_[call.b].contents,
                           .writes = {},
                           .savepoints = {},
                           .reads = {},
                           .written = {}};
  return Answer(MERGEDB_OK);
}

std::string Model::Commit(int8_t number) {
  Transaction& transaction = transactions_[number];
  if (transaction.has_ended) return Answer(MERGEDB_ABORTED);
  int32_t code = IsOpen(transaction.of) ? MERGEDB_OK : MERGEDB_SHUTTING_DOWN;
  if (code == MERGEDB_OK && !transaction.writes.empty()) {
    const auto is_written = [&](const Place& place) { return transaction.written.contains(place); };
    std::vector<uint8_t> keyspaces;
    for (const Transaction::Write& write : transaction.writes) keyspaces.push_back(write.place.first);
    transaction.has_conflict = std::ranges::any_of(transaction.reads, is_written);
    const int8_t database = transaction.of.database;
    code = transaction.has_conflict ? MERGEDB_CONFLICT : CheckWrite(database, keyspaces, &transaction);
    if (code == MERGEDB_OK) Apply(database, transaction.writes, number);
  }
  End(transaction);
  return Answer(code);
}

std::string Model::DoTransaction(const Call& call) {
  Transaction& transaction = transactions_[call.a];
  if (call.op == Op::kBegin) return Begin(call, TransactionKind::kSingleWriter);
  if (call.op == Op::kBeginOptimistic) return Begin(call, TransactionKind::kOptimistic);
  if (call.op == Op::kBeginReadOnly) return Begin(call, TransactionKind::kReadOnly);
  if (transaction.state != State::kOpen) return Answer(MERGEDB_BAD_HANDLE);
  if (IsInUse(transaction.serial)) return Answer(MERGEDB_BUSY);
  if (call.op == Op::kCommit) return Commit(call.a);
  if (call.op != Op::kRollback && call.op != Op::kCloseTransaction) return DoOpenTransaction(call, transaction);
  if (!transaction.has_ended) End(transaction);
  if (call.op == Op::kCloseTransaction) transaction.state = State::kClosed;
  return Answer(MERGEDB_OK);
}

std::string Model::DoOpenTransaction(const Call& call, Transaction& transaction) {
  const uint8_t keyspace = KeyspaceOf(transaction.of.database, call.space);
  if (call.op == Op::kConflict) return Answer(transaction.has_conflict ? MERGEDB_OK : MERGEDB_NOT_FOUND);
  if (call.op == Op::kSize) return Answer(MERGEDB_OK) + " " + std::to_string(transaction.writes.size());
  if (call.op == Op::kTransactionGet) {
    if (const int32_t code = CheckReadable(transaction, keyspace); code != MERGEDB_OK) return Answer(code);
    const Place place{keyspace, 'b'};
    const auto is_here = [&](const Transaction::Write& write) { return write.place == place; };
    if (std::ranges::none_of(transaction.writes, is_here)) NoteReads(transaction, keyspace, 'b', 'b');
    const Contents seen = transaction.Seen();
    const auto found = seen.find(place);
    return found == seen.end() ? Answer(MERGEDB_NOT_FOUND) : Answer(MERGEDB_OK) + " " + found->second;
  }
  if (call.op == Op::kTransactionPut) {
    const int32_t code = CheckWritable(transaction, keyspace);
    if (code == MERGEDB_OK) Write(transaction, {keyspace, 'b'}, 't');
    return Answer(code);
  }
  if (const int32_t code = CheckWritable(transaction, 0); code != MERGEDB_OK) return Answer(code);
  if (call.op == Op::kSetSavepoint) {
    transaction.savepoints.push_back(transaction.writes.size());
    return Answer(MERGEDB_OK);
  }
  if (transaction.savepoints.empty()) return Answer(MERGEDB_INVALID_ARGUMENT);
  if (call.op == Op::kToSavepoint) {
    HideEntries(transaction.serial);
    transaction.writes.resize(transaction.savepoints.back());
  }
  transaction.savepoints.pop_back();
  return Answer(MERGEDB_OK);
}

// ---- Cursors -----------------------------------------------------------------------------------------------------

std::string Model::DoCursor(const Call& call) {
  Cursor& cursor = cursors_[call.a];
  if (call.op == Op::kCursor) {
    const Transaction& transaction = transactions_[call.b];
    if (transaction.state != State::kOpen) return Answer(MERGEDB_BAD_HANDLE);
    if (IsInUse(transaction.serial)) return Answer(MERGEDB_BUSY);
    cursor = {.state = State::kOpen,
              .transaction = call.b,
              .serial = transaction.serial,
              .is_detached = transaction.has_ended,
              .keyspace = KeyspaceOf(transaction.of.database, call.space)};
    return Answer(MERGEDB_OK);
  }
  if (cursor.state != State::kOpen) return Answer(MERGEDB_BAD_HANDLE);
  if (IsInUse(cursor.serial)) return Answer(MERGEDB_BUSY);
  if (call.op == Op::kCloseCursor) {
    cursor.state = State::kClosed;
    return Answer(MERGEDB_OK);
  }
  if (call.op == Op::kCursorEntry) {
    if (cursor.shows != Shows::kEntry || !IsOpen(transactions_[cursor.transaction].of)) {
      return Answer(MERGEDB_NOT_FOUND);
    }
    const char value = transactions_[cursor.transaction].Seen().at({cursor.keyspace, cursor.key});
    return Answer(MERGEDB_OK) + " " + cursor.key + "=" + value;
  }
  if (cursor.is_detached) return Answer(MERGEDB_ABORTED);
  const int32_t code = CheckReadable(transactions_[cursor.transaction], cursor.keyspace);
  if (code != MERGEDB_OK) return Answer(code);
  if (call.op == Op::kCursorPut || call.op == Op::kCursorDelete) return ChangeAtCursor(call, cursor);
  return MoveCursor(call, cursor);
}

// include/mergedb/cursor.h describes the positions. A cursor whose key was deleted stands in the gap there.
std::string Model::MoveCursor(const Call& call, Cursor& cursor) {
  Transaction& transaction = transactions_[cursor.transaction];
  const Contents seen = transaction.Seen();
  const bool is_at_key = cursor.stands == Stands::kAtKey && seen.contains({cursor.keyspace, cursor.key});
  const auto arrive = [&](char key, char from, char to) {
    NoteReads(transaction, cursor.keyspace, from, to);
    if (key == 0) return Answer(MERGEDB_NOT_FOUND);
    cursor.stands = Stands::kAtKey;
    cursor.shows = Shows::kEntry;
    cursor.key = key;
    return Answer(MERGEDB_OK);
  };
  // The cursor stays at its key: there is none in that direction.
  const auto stay = [&](char from, char to) {
    (void)arrive(is_at_key ? cursor.key : '\0', from, to);
    return Answer(MERGEDB_NOT_FOUND);
  };
  const bool is_fresh = cursor.stands == Stands::kFresh;
  if (call.op == Op::kCursorFirst || (call.op == Op::kCursorNext && is_fresh)) {
    cursor = {
        .state = State::kOpen, .transaction = cursor.transaction, .serial = cursor.serial, .keyspace = cursor.keyspace};
    const char key = KeyFrom(seen, cursor.keyspace, kFirstKey);
    return arrive(key, kFirstKey, key == 0 ? kLastKey : key);
  }
  if (call.op == Op::kCursorPrev) {
    const char key = KeyUpTo(seen, cursor.keyspace, is_fresh ? int{kLastKey} : cursor.key - 1);
    const char to = is_fresh ? kLastKey : cursor.key;
    return key != 0 ? arrive(key, key, to) : stay(kFirstKey, to);
  }
  if (call.op == Op::kCursorCurrent) {
    if (is_fresh) return Answer(MERGEDB_INVALID_ARGUMENT);
    if (is_at_key) return arrive(cursor.key, cursor.key, cursor.key);
    const char key = KeyFrom(seen, cursor.keyspace, cursor.key);
    return arrive(key, cursor.key, key == 0 ? kLastKey : key);
  }
  const char key = KeyFrom(seen, cursor.keyspace, cursor.key + 1);
  return key != 0 ? arrive(key, cursor.key, key) : stay(cursor.key, kLastKey);
}

std::string Model::ChangeAtCursor(const Call& call, Cursor& cursor) {
  Transaction& transaction = transactions_[cursor.transaction];
  if (cursor.stands == Stands::kFresh) return Answer(MERGEDB_INVALID_ARGUMENT);
  const Contents seen = transaction.Seen();
  if (call.op == Op::kCursorPut) {
    if (!seen.contains({cursor.keyspace, cursor.key})) {
      const char next = KeyFrom(seen, cursor.keyspace, cursor.key);
      NoteReads(transaction, cursor.keyspace, cursor.key, next == 0 ? kLastKey : next);
      return Answer(MERGEDB_NOT_FOUND);
    }
  } else {
    const std::string moved = MoveCursor({.op = Op::kCursorCurrent, .a = call.a}, cursor);
    if (moved != Answer(MERGEDB_OK)) return moved;
  }
  const int32_t code = CheckWritable(transaction, cursor.keyspace);
  if (code == MERGEDB_OK) Write(transaction, {cursor.keyspace, cursor.key}, call.op == Op::kCursorPut ? 'c' : '\0');
  return Answer(code);
}

}  // namespace mergedb::testing::handles
