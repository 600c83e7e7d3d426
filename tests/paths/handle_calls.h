// The calls of the C interface as data: handle_model.h says the answer of each, handle_subject.h makes it.
//
//     iterator i0 d1 s0 x      opens iterator i0 of database d1 with snapshot s0 on the keyspace x of d1
//     >put t0                  a put by transaction t0, from a second thread
//
// A program has two variables of each kind: d0 and d1 of databases, i of iterators, s of snapshots, b of batches, t of
// transactions, c of cursors. A variable keeps the number of its handle after the close, so that a later call uses it
// again. `-` stands for no snapshot. Each database has the default keyspace and at most one named one, `x`. `y` is a
// keyspace that was never created. Keys are "a", which each database has at first, and "b", which the calls put.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace mergedb::testing::handles {

enum class Op : uint8_t {
  kOpen,
  kClose,
  kPut,
  kGet,
  kWrite,
  kCreateKeyspace,
  kFindKeyspace,
  kListKeyspaces,
  kDropKeyspace,
  kClearKeyspace,
  kSnapshot,
  kSequence,
  kCloseSnapshot,
  kIterator,
  kFirst,
  kLast,
  kNext,
  kPrev,
  kEntry,
  kRead,
  kFailedKey,
  kCloseIterator,
  kBatch,
  kBatchPut,
  kBatchClear,
  kBatchSize,
  kBatchAppend,
  kCloseBatch,
  kBegin,
  kBeginOptimistic,
  kBeginReadOnly,
  kTransactionGet,
  kTransactionPut,
  kCommit,
  kRollback,
  kSetSavepoint,
  kToSavepoint,
  kReleaseSavepoint,
  kConflict,
  kSize,
  kCloseTransaction,
  kCursor,
  kCursorFirst,
  kCursorNext,
  kCursorPrev,
  kCursorCurrent,
  kCursorEntry,
  kCursorPut,
  kCursorDelete,
  kCloseCursor,
  kAsOthers,  // every call that takes a handle of another kind
  kEnter,     // a second thread begins a call on the object
  kLeave,     // and ends it
  kOps
};

// `kinds`: of its variables; '*': of any kind.
struct OpText {
  std::string_view name;
  std::string_view kinds;
};
inline constexpr std::array<OpText, static_cast<size_t>(Op::kOps)> kOpTexts = {{
    {"open", "d"},        {"close", "d"},        {"put", "d"},     {"get", "ds"},       {"write", "db"},
    {"create", "d"},      {"find", "ds"},        {"list", "d"},    {"drop", "d"},       {"clear", "d"},
    {"snapshot", "sd"},   {"sequence", "s"},     {"close", "s"},   {"iterator", "ids"}, {"first", "i"},
    {"last", "i"},        {"next", "i"},         {"prev", "i"},    {"entry", "i"},      {"read", "i"},
    {"failed_key", "i"},  {"close", "i"},        {"batch", "b"},   {"put", "b"},        {"clear", "b"},
    {"size", "b"},        {"append", "bb"},      {"close", "b"},   {"begin", "tds"},    {"optimistic", "tds"},
    {"read_only", "tds"}, {"get", "t"},          {"put", "t"},     {"commit", "t"},     {"rollback", "t"},
    {"savepoint", "t"},   {"to_savepoint", "t"}, {"release", "t"}, {"conflict", "t"},   {"size", "t"},
    {"close", "t"},       {"cursor", "ct"},      {"first", "c"},   {"next", "c"},       {"prev", "c"},
    {"current", "c"},     {"entry", "c"},        {"set", "c"},     {"delete", "c"},     {"close", "c"},
    {"as_others", "*"},   {"enter", "*"},        {"leave", "*"},
}};

enum class Space : uint8_t { kDefault, kNamed, kUnmade };

inline constexpr int8_t kNone = -1;

struct Call {
  Op op{};
  int8_t a = kNone, b = kNone, c = kNone;  // numbers of its variables, in the order of the kinds
  Space space = Space::kDefault;
  char kind = 0;  // of an op of any kind
  bool from_second_thread = false;
};

inline std::string ToText(const Call& call) {
  const OpText& op = kOpTexts[static_cast<size_t>(call.op)];
  std::string text = call.from_second_thread ? ">" : "";
  text += op.name;
  const int8_t numbers[] = {call.a, call.b, call.c};
  for (size_t i = 0; i < op.kinds.size(); ++i) {
    text += ' ';
    if (numbers[i] == kNone) {
      text += '-';
      continue;
    }
    text += op.kinds[i] == '*' ? call.kind : op.kinds[i];
    text += static_cast<char>('0' + numbers[i]);
  }
  if (call.space == Space::kNamed) text += " x";
  if (call.space == Space::kUnmade) text += " y";
  return text;
}

}  // namespace mergedb::testing::handles
