// The model of transactions for tests/paths/transactions_test.cc: plain maps, from include/mergedb/transaction.h,
// cursor.h and keyspace.h.
//
//     Model model(family);                                  // after the calls of family.setup
//     model.Do({.op = Op::kPut, .who = 0, .key = 'a', .value = '1'});     // "OK"
//
// A transaction is a copy of the database as of its beginning, and a list of writes. Its view is the copy after these
// writes. For the check of an optimistic commit, a *point* is a key of a keyspace, or the name of a keyspace. A
// transaction knows which points it has read, and which points other commits have written since. A point in both sets
// is a conflict. Keys are the letters of kKeys, so a range is a set of points.
//
// Where an error could be one of several, the model has the order of the library: Aborted, NotSupported; at the commit
// Conflict, Busy, InvalidArgument.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace mergedb::testing::transactions_test {

inline const std::string kKeys = "abc";
inline const std::string kNames = "xy";
inline constexpr int kOutside = -1;  // not a transaction: a call of the database itself

enum class Kind { kSingleWriter, kOptimistic, kReadOnly };

enum class Op {
  // of the database or of a transaction
  kGet,
  kPut,
  kDelete,
  kMerge,        // appends the value
  kDeleteRange,  // [key, end)
  kScan,
  kCreate,  // the keyspace `value`
  kOpen,
  kList,
  kDrop,
  kClear,
  // of a transaction
  kBegin,
  kBeginAtSnapshot,
  kCommit,
  kRollback,
  kSavepoint,
  kRollbackTo,
  kRelease,
  // of the cursor of a transaction, on the default keyspace
  kFirst,
  kLast,
  kNext,
  kPrev,
  kSet,
  kSetRange,
  kSetForPrev,
  kCurrent,
  kCursorPut,
  kCursorDelete,
  // of the database
  kTakeSnapshot,
  kReleaseSnapshot,
  kGetAtSnapshot,
  kScanAtSnapshot,
  kFlush,
  kCompact,
  kReopen,  // ends all transactions
};

inline bool IsOfCursor(Op op) { return op >= Op::kFirst && op <= Op::kCursorDelete; }

struct Call {
  Op op = Op::kGet;
  int who = kOutside;  // the number of a transaction
  int keyspace = 0;    // 0: the default one; n: the n-th that was created
  char key = 'a';
  char end = 'c';
  char value = '1';
  Kind kind = Kind::kOptimistic;
};

// What a walk tries: each call of `calls` that is possible in a state, after the calls of `setup`.
struct Family {
  std::vector<Call> setup;
  std::vector<Call> calls;
  bool has_calls_after_end = false;  // all calls of an ended transaction, not only Get and Commit
};

// As in MERGEDB_PATH: "put 0 x1:a 1".
inline std::string TextOf(const Call& call) {
  static const std::map<Op, std::string> names = {
      {Op::kGet, "get"},
      {Op::kPut, "put"},
      {Op::kDelete, "delete"},
      {Op::kMerge, "merge"},
      {Op::kDeleteRange, "delete-range"},
      {Op::kScan, "scan"},
      {Op::kCreate, "create"},
      {Op::kOpen, "open"},
      {Op::kList, "list"},
      {Op::kDrop, "drop"},
      {Op::kClear, "clear"},
      {Op::kBegin, "begin"},
      {Op::kBeginAtSnapshot, "begin-at-snapshot"},
      {Op::kCommit, "commit"},
      {Op::kRollback, "rollback"},
      {Op::kSavepoint, "savepoint"},
      {Op::kRollbackTo, "rollback-to-savepoint"},
      {Op::kRelease, "release-savepoint"},
      {Op::kFirst, "first"},
      {Op::kLast, "last"},
      {Op::kNext, "next"},
      {Op::kPrev, "prev"},
      {Op::kSet, "set"},
      {Op::kSetRange, "set-range"},
      {Op::kSetForPrev, "set-for-prev"},
      {Op::kCurrent, "current"},
      {Op::kCursorPut, "cursor-put"},
      {Op::kCursorDelete, "cursor-delete"},
      {Op::kTakeSnapshot, "take-snapshot"},
      {Op::kReleaseSnapshot, "release-snapshot"},
      {Op::kGetAtSnapshot, "get-at-snapshot"},
      {Op::kScanAtSnapshot, "scan-at-snapshot"},
      {Op::kFlush, "flush"},
      {Op::kCompact, "compact"},
      {Op::kReopen, "reopen"},
  };
  std::string text = names.at(call.op);
  if (call.who != kOutside) text += " " + std::to_string(call.who);
  const std::string keyspace = call.keyspace == 0 ? "" : std::to_string(call.keyspace) + ":";
  switch (call.op) {
    case Op::kGet:
    case Op::kDelete:
    case Op::kGetAtSnapshot:
    case Op::kSet:
    case Op::kSetRange:
    case Op::kSetForPrev: return text + " " + keyspace + call.key;
    case Op::kPut:
    case Op::kMerge: return text + " " + keyspace + call.key + " " + call.value;
    case Op::kDeleteRange: return text + " " + keyspace + call.key + " " + call.end;
    case Op::kScan:
    case Op::kScanAtSnapshot:
    case Op::kDrop:
    case Op::kClear: return text + " " + std::to_string(call.keyspace);
    case Op::kCreate:
    case Op::kOpen:
    case Op::kCursorPut: return text + " " + call.value;
    case Op::kBegin:
    case Op::kBeginAtSnapshot:
      return text + std::string(call.kind == Kind::kSingleWriter ? " single-writer"
                                : call.kind == Kind::kOptimistic ? " optimistic"
                                                                 : " read-only");
    default: return text;
  }
}

// The keys of [begin, end).
inline std::set<std::string> PointsOf(int keyspace, char begin = 0, char end = 127) {
  std::set<std::string> points;
  for (const char key : kKeys) {
    if (begin <= key && key < end) points.insert(std::to_string(keyspace) + ":" + key);
  }
  return points;
}
inline std::string PointOfName(char name) { return std::string("name ") + name; }

// The contents of a database. In a write of kCreate and kDrop, `value` is the name and `keyspace` the number.
struct Tree {
  std::map<char, int> names;  // of the keyspaces that exist
  std::map<std::pair<int, char>, std::string> values;

  void Apply(const Call& write) {
    const std::pair at(write.keyspace, write.key);
    switch (write.op) {
      case Op::kPut: values[at] = write.value; return;
      case Op::kMerge: values[at] += write.value; return;
      case Op::kDelete: values.erase(at); return;
      case Op::kCreate: names[write.value] = write.keyspace; return;
      case Op::kDrop: names.erase(write.value); break;
      default: break;
    }
    const bool is_range = write.op == Op::kDeleteRange;
    std::erase_if(values, [&](const auto& entry) {
      const auto& [keyspace, key] = entry.first;
      return keyspace == write.keyspace && (!is_range || (write.key <= key && key < write.end));
    });
  }
  std::optional<char> NameOf(int keyspace) const {
    for (const auto& [name, number] : names) {
      if (number == keyspace) return name;
    }
    return std::nullopt;
  }
  std::string Get(int keyspace, char key) const {
    const auto found = values.find({keyspace, key});
    return found == values.end() ? "NotFound" : found->second;
  }
  std::string Text(int keyspace) const {
    std::string text;
    for (const auto& [at, value] : values) {
      if (at.first == keyspace) text += std::string(1, at.second) + "=" + value + " ";
    }
    return text;
  }
  std::string Names() const {
    std::string text;
    for (const auto& [name, number] : names) text += std::string(1, name) + "=" + std::to_string(number) + " ";
    return text;
  }
  std::string Text() const {
    std::string text = Text(0);
    for (const auto& [name, number] : names) text += "[" + std::string(1, name) + ": " + Text(number) + "]";
    return text;
  }
};

// The points that a write changes.
inline std::set<std::string> PointsOf(const Call& write) {
  switch (write.op) {
    case Op::kPut:
    case Op::kMerge:
    case Op::kDelete: return PointsOf(write.keyspace, write.key, static_cast<char>(write.key + 1));
    case Op::kDeleteRange: return PointsOf(write.keyspace, write.key, write.end);
    case Op::kCreate: return {PointOfName(write.value)};
    default: break;
  }
  std::set<std::string> points = PointsOf(write.keyspace);
  if (write.op == Op::kDrop) points.insert(PointOfName(write.value));
  return points;
}

class Model {
 public:
  using Call = transactions_test::Call;

  explicit Model(const Family* family) : family_(family) {
    for (const Call& call : family->setup) (void)Do(call);
  }
  std::vector<Call> Calls() const;
  std::string Do(const Call& call);
  std::string Key() const;
  static std::string TextOf(const Call& call) { return transactions_test::TextOf(call); }

 private:
  struct Savepoint {
    size_t writes = 0;
    size_t used = 0;
  };
  struct CursorState {
    enum class Place { kFresh, kAtOrGap, kEnd };
    Place place = Place::kFresh;
    char key = 'a';
    bool is_valid = false;
  };
  struct Transaction {
    Kind kind = Kind::kOptimistic;
    bool is_begun = false;
    bool is_open = false;
    bool has_map = false;  // as of its last call: the database has had a keyspace
    Tree base;
    std::vector<Call> writes;
    std::vector<Savepoint> savepoints;
    std::vector<int> used;                   // keyspaces
    std::set<std::string> reads, overtaken;  // points
    CursorState cursor;

    Tree View() const {
      Tree view = base;
      for (const Call& write : writes) view.Apply(write);
      return view;
    }
    void NoteReads(const std::set<std::string>& points) {
      if (kind == Kind::kOptimistic) reads.insert(points.begin(), points.end());
    }
    bool Has(Op op, int keyspace) const {
      return std::ranges::any_of(writes, [&](const Call& each) { return each.op == op && each.keyspace == keyspace; });
    }
    // A drop is two writes.
    std::string Counts() const {
      size_t count = writes.size();
      for (const Call& write : writes) count += write.op == Op::kDrop ? 1 : 0;
      return " savepoints=" + std::to_string(savepoints.size()) + " writes=" + std::to_string(count);
    }
    std::string Key() const;
  };

  bool IsPossible(const Call& call) const;
  bool IsLocked() const {
    return std::ranges::any_of(transactions_,
                               [](const auto& each) { return each.is_open && each.kind == Kind::kSingleWriter; });
  }
  void Publish(const Call& write);

  std::string DoOutside(const Call& call);
  std::string WriteOutside(Call write);
  std::string DoOfSnapshot(const Call& call);
  std::string DoInside(Transaction& transaction, const Call& call);
  std::string Begin(const Call& call);
  std::string Commit(Transaction& transaction);
  std::string DoSavepoint(Transaction& transaction, Op op);
  std::string Read(Transaction& transaction, const Call& call);
  std::string Write(Transaction& transaction, Call write);
  std::string Create(Transaction& transaction, Call write);
  std::string NoteDropped(Transaction& transaction, Call& write) const;
  std::string Open(Transaction& transaction, char name) const;
  std::string CheckReadable(Transaction& transaction) const;
  std::string CheckWritable(Transaction& transaction, int keyspace) const;
  std::string DoCursor(Transaction& transaction, const Call& call);

  const Family* family_;
  Tree tree_;
  std::vector<Transaction> transactions_ = std::vector<Transaction>(2);
  std::optional<Tree> snapshot_;
  bool has_map_ = false;  // the database has had a keyspace
  int keyspaces_ = 0;     // that were created
  int flushes_ = 0;       // that wrote a table; at most two are counted
  bool is_flushed_ = true;
};

// ---- The database ---------------------------------------------------------------------------------------------------

inline bool Model::IsPossible(const Call& call) const {
  if (call.keyspace > keyspaces_) return false;
  switch (call.op) {
    case Op::kTakeSnapshot: return !snapshot_;
    case Op::kBeginAtSnapshot:
    case Op::kReleaseSnapshot:
    case Op::kScanAtSnapshot:
    case Op::kGetAtSnapshot:
      if (!snapshot_) return false;
      break;
    case Op::kFlush: return !is_flushed_;
    case Op::kCreate:
      if (keyspaces_ == 3) return false;
      break;
    default: break;
  }
  if (call.who == kOutside) return true;
  const Transaction& transaction = transactions_[static_cast<size_t>(call.who)];
  if (call.op == Op::kBegin || call.op == Op::kBeginAtSnapshot) return !transaction.is_open;
  if (transaction.is_open || family_->has_calls_after_end) return transaction.is_begun;
  return transaction.is_begun && (call.op == Op::kGet || call.op == Op::kCommit);
}

inline std::vector<Call> Model::Calls() const {
  std::vector<Call> calls;
  for (const Call& call : family_->calls) {
    if (IsPossible(call)) calls.push_back(call);
  }
  return calls;
}

inline std::string Model::Do(const Call& call) {
  if (call.who == kOutside) return DoOutside(call);
  if (call.op == Op::kBegin || call.op == Op::kBeginAtSnapshot) return Begin(call);
  return DoInside(transactions_[static_cast<size_t>(call.who)], call);
}

inline void Model::Publish(const Call& write) {
  tree_.Apply(write);
  is_flushed_ = false;
  for (Transaction& each : transactions_) {
    if (each.is_open) each.overtaken.merge(PointsOf(write));
  }
}

inline std::string Model::DoOutside(const Call& call) {
  switch (call.op) {
    case Op::kGet: return tree_.Get(call.keyspace, call.key);
    case Op::kScan: return tree_.Text(call.keyspace);
    case Op::kList: return tree_.Names();
    case Op::kOpen: return tree_.names.contains(call.value) ? std::to_string(tree_.names.at(call.value)) : "NotFound";
    case Op::kTakeSnapshot:
    case Op::kReleaseSnapshot:
    case Op::kGetAtSnapshot:
    case Op::kScanAtSnapshot: return DoOfSnapshot(call);
    case Op::kReopen:
      transactions_ = std::vector<Transaction>(2);
      snapshot_ = std::nullopt;
      return "OK " + tree_.Text();
    case Op::kFlush:
    case Op::kCompact:
      if (!is_flushed_) flushes_ = std::min(flushes_ + 1, 2);
      if (call.op == Op::kCompact) flushes_ = std::min(flushes_, 1);
      is_flushed_ = true;
      return "OK " + tree_.Text();
    default: return WriteOutside(call);
  }
}

inline std::string Model::DoOfSnapshot(const Call& call) {
  if (call.op == Op::kGetAtSnapshot) return snapshot_->Get(call.keyspace, call.key);
  if (call.op == Op::kScanAtSnapshot) return snapshot_->Text(call.keyspace);
  snapshot_ = call.op == Op::kTakeSnapshot ? std::optional(tree_) : std::nullopt;
  return "OK";
}

inline std::string Model::WriteOutside(Call write) {
  const bool is_of_default = write.keyspace == 0;
  if ((write.op == Op::kDrop || write.op == Op::kClear) && is_of_default) return "InvalidArgument";
  if (IsLocked()) return "Busy";
  if (write.op == Op::kCreate) {
    if (tree_.names.contains(write.value)) return "InvalidArgument";
    has_map_ = true;
    write.keyspace = ++keyspaces_;
  } else if (!is_of_default) {
    const std::optional<char> name = tree_.NameOf(write.keyspace);
    if (!name) return "InvalidArgument";
    if (write.op == Op::kDrop) write.value = *name;
  }
  Publish(write);
  return "OK " + tree_.Text();
}

// ---- Transactions ---------------------------------------------------------------------------------------------------

inline std::string Model::Begin(const Call& call) {
  const bool is_at_snapshot = call.op == Op::kBeginAtSnapshot;
  if (is_at_snapshot && call.kind != Kind::kReadOnly) return "InvalidArgument";
  if (call.kind == Kind::kSingleWriter && IsLocked()) return "Busy";
  Transaction& transaction = transactions_[static_cast<size_t>(call.who)];
  transaction = Transaction();
  transaction.kind = call.kind;
  transaction.is_begun = transaction.is_open = true;
  transaction.has_map = has_map_;
  transaction.base = is_at_snapshot ? *snapshot_ : tree_;
  return "OK";
}

inline std::string Model::Commit(Transaction& transaction) {
  if (!transaction.is_open) return "Aborted";
  const auto is_overtaken = [&](const std::string& point) { return transaction.overtaken.contains(point); };
  const auto is_gone = [&](int keyspace) { return !tree_.NameOf(keyspace) && !transaction.Has(Op::kCreate, keyspace); };
  transaction.is_open = transaction.kind == Kind::kSingleWriter;
  std::string answer = "OK";
  if (!transaction.writes.empty()) {
    if (std::ranges::any_of(transaction.reads, is_overtaken)) {
      answer = "Conflict";
    } else if (!transaction.is_open && IsLocked()) {
      answer = "Busy";
    } else if (transaction.has_map != has_map_) {
      answer = "Conflict";
    } else if (std::ranges::any_of(transaction.used, is_gone)) {
      answer = "InvalidArgument";
    }
  }
  transaction.is_open = false;
  if (answer == "OK") {
    for (const Call& write : transaction.writes) Publish(write);
  }
  return answer + " " + tree_.Text();
}

inline std::string Model::DoInside(Transaction& transaction, const Call& call) {
  if (IsOfCursor(call.op)) return DoCursor(transaction, call);
  switch (call.op) {
    case Op::kCommit: return Commit(transaction);
    case Op::kRollback: transaction.is_open = false; return "OK " + tree_.Text();
    case Op::kSavepoint:
    case Op::kRollbackTo:
    case Op::kRelease: {
      const std::string answer = DoSavepoint(transaction, call.op);
      return transaction.is_open ? answer + transaction.Counts() : answer;
    }
    case Op::kGet:
    case Op::kScan:
    case Op::kOpen:
    case Op::kList: return Read(transaction, call);
    default: return Write(transaction, call);
  }
}

// WHY a change of the map is a conflict: see TransactionImpl::KeepKeyMap.
inline std::string Model::CheckReadable(Transaction& transaction) const {
  if (!transaction.is_open) return "Aborted";
  if (transaction.has_map == has_map_) return "";
  if (!transaction.writes.empty() || !transaction.reads.empty()) return "Conflict";
  transaction.has_map = has_map_;
  return "";
}

// A keyspace to which the transaction has written is checked again at the commit.
inline std::string Model::CheckWritable(Transaction& transaction, int keyspace) const {
  if (!transaction.is_open) return "Aborted";
  if (transaction.kind == Kind::kReadOnly) return "NotSupported";
  if (const std::string error = CheckReadable(transaction); !error.empty()) return error;
  if (keyspace == 0) return "";
  const bool is_there = std::ranges::count(transaction.used, keyspace) > 0 || transaction.Has(Op::kCreate, keyspace) ||
                        tree_.NameOf(keyspace);
  return is_there && !transaction.Has(Op::kDrop, keyspace) ? "" : "InvalidArgument";
}

inline std::string Model::DoSavepoint(Transaction& transaction, Op op) {
  if (const std::string error = CheckWritable(transaction, 0); !error.empty()) return error;
  auto& savepoints = transaction.savepoints;
  if (op == Op::kSavepoint) {
    savepoints.push_back({.writes = transaction.writes.size(), .used = transaction.used.size()});
    return "OK";
  }
  if (savepoints.empty()) return "InvalidArgument";
  if (op == Op::kRollbackTo) {
    transaction.writes.resize(savepoints.back().writes);
    transaction.used.resize(savepoints.back().used);
    transaction.cursor.is_valid = false;
  }
  savepoints.pop_back();
  return "OK";
}

// A key that the transaction has written is not read from the database, except under operands.
inline std::string Model::Read(Transaction& transaction, const Call& call) {
  if (const std::string error = CheckReadable(transaction); !error.empty()) return error;
  const Tree view = transaction.View();
  switch (call.op) {
    case Op::kScan: transaction.NoteReads(PointsOf(call.keyspace)); return view.Text(call.keyspace);
    case Op::kOpen: return Open(transaction, call.value);
    case Op::kList:
      for (const char name : kNames) {
        if (transaction.has_map) transaction.NoteReads({PointOfName(name)});
      }
      return view.Names();
    default: break;
  }
  const std::set<std::string> point = PointsOf(call.keyspace, call.key, static_cast<char>(call.key + 1));
  const bool is_own = std::ranges::any_of(transaction.writes, [&](const Call& write) {
    return write.op != Op::kMerge && PointsOf(write).contains(*point.begin());
  });
  if (!is_own) transaction.NoteReads(point);
  return view.Get(call.keyspace, call.key);
}

inline std::string Model::Open(Transaction& transaction, char name) const {
  const bool is_own = std::ranges::any_of(
      transaction.writes, [&](const Call& write) { return PointsOf(write).contains(PointOfName(name)); });
  if (!is_own && transaction.has_map) transaction.NoteReads({PointOfName(name)});
  const Tree view = transaction.View();
  return view.names.contains(name) ? std::to_string(view.names.at(name)) : "NotFound";
}

inline std::string Model::Write(Transaction& transaction, Call write) {
  std::string error = CheckWritable(transaction, write.keyspace);
  if (!error.empty()) return error;
  if (write.op == Op::kCreate) return Create(transaction, write);
  const bool is_of_default = write.keyspace == 0;
  if ((write.op == Op::kDrop || write.op == Op::kClear) && is_of_default) return "InvalidArgument";
  if (write.op == Op::kDrop) error = NoteDropped(transaction, write);
  if (!error.empty()) return error;
  if (write.op != Op::kDrop && !is_of_default && std::ranges::count(transaction.used, write.keyspace) == 0)
    transaction.used.push_back(write.keyspace);
  transaction.writes.push_back(write);
  transaction.cursor.is_valid = false;
  return "OK";
}

// An optimistic transaction cannot create the first keyspace of a database.
inline std::string Model::Create(Transaction& transaction, Call write) {
  if (!transaction.has_map && transaction.kind == Kind::kOptimistic) return "NotSupported";
  has_map_ = transaction.has_map = true;
  if (Open(transaction, write.value) != "NotFound") return "InvalidArgument";
  write.keyspace = ++keyspaces_;
  transaction.writes.push_back(write);
  return "OK";
}

// Finds the name of a keyspace that is to be dropped. The transaction has then read it.
inline std::string Model::NoteDropped(Transaction& transaction, Call& write) const {
  const Tree view = transaction.View();
  if (transaction.Has(Op::kCreate, write.keyspace)) {
    write.value = *view.NameOf(write.keyspace);
  } else {
    const std::optional<char> name = tree_.NameOf(write.keyspace);
    if (!name || Open(transaction, *name) != std::to_string(write.keyspace)) return "InvalidArgument";
    write.value = *name;
  }
  transaction.NoteReads({PointOfName(write.value)});
  return "";
}

// ---- The cursor -----------------------------------------------------------------------------------------------------

// A move, as a function of the keys that the transaction sees. It reads the keys from `from` to `to`, both included.
struct Moved {
  std::string answer = "OK";
  std::optional<char> at = std::nullopt;  // without a value: the position stays
  bool is_fresh = false, is_end = false;
  char from = 0, to = 126;
};

struct Keys {
  std::set<char> keys;

  std::optional<char> First() const { return keys.empty() ? std::nullopt : std::optional(*keys.begin()); }
  std::optional<char> Last() const { return keys.empty() ? std::nullopt : std::optional(*keys.rbegin()); }
  std::optional<char> From(char key) const {
    const auto found = keys.lower_bound(key);
    return found == keys.end() ? std::nullopt : std::optional(*found);
  }
  std::optional<char> UpTo(char key) const {
    const auto found = keys.upper_bound(key);
    return found == keys.begin() ? std::nullopt : std::optional(*std::prev(found));
  }

  Moved MoveToEnd(Op op) const {
    const std::optional<char> at = op == Op::kFirst ? First() : Last();
    if (!at) return {.answer = "NotFound", .is_fresh = true};
    return op == Op::kFirst ? Moved{.at = at, .to = *at} : Moved{.at = at, .from = *at};
  }
  // From a key or a gap.
  Moved Step(Op op, char position) const {
    if (op == Op::kNext) {
      const std::optional<char> at = From(static_cast<char>(position + 1));
      if (at) return {.at = at, .from = position, .to = *at};
      return {.answer = "NotFound", .at = keys.contains(position) ? std::optional(position) : at, .from = position};
    }
    const std::optional<char> at = UpTo(static_cast<char>(position - 1));
    if (at) return {.at = at, .from = *at, .to = position};
    return {.answer = "NotFound", .at = keys.contains(position) ? std::optional(position) : at, .to = position};
  }
  Moved Seek(Op op, char key) const {
    if (op == Op::kSetForPrev) {
      if (const auto at = UpTo(key)) return {.at = at, .from = *at, .to = key};
      if (const auto at = First()) return {.answer = "NotFound", .at = at, .to = *at};
      return {.answer = "NotFound", .is_fresh = true};
    }
    const auto at = From(key);
    if (!at) return {.answer = "NotFound", .is_end = true, .from = key};
    return {.answer = op == Op::kSet && at != key ? "NotFound" : "OK", .at = at, .from = key, .to = *at};
  }
  // To the key, or to the one behind the gap.
  Moved Current(char position) const {
    if (const auto at = From(position)) return {.at = at, .from = position, .to = *at};
    return {.answer = "NotFound", .from = position};
  }
  Moved Move(Op op, bool is_fresh, bool is_end, char position, char key) const {
    switch (op) {
      case Op::kFirst:
      case Op::kLast: return MoveToEnd(op);
      case Op::kSet:
      case Op::kSetRange:
      case Op::kSetForPrev: return Seek(op, key);
      default: break;
    }
    const Moved stay{.is_fresh = is_fresh, .is_end = is_end, .from = 1, .to = 0};
    if (op == Op::kNext && is_fresh) return MoveToEnd(Op::kFirst);
    if (op == Op::kPrev && (is_fresh || is_end)) return MoveToEnd(Op::kLast);
    if (is_fresh || is_end) {
      Moved none = stay;
      none.answer = is_fresh ? "InvalidArgument" : "NotFound";
      return none;
    }
    return op == Op::kNext || op == Op::kPrev ? Step(op, position) : Current(position);
  }
};

inline std::string Model::DoCursor(Transaction& transaction, const Call& call) {
  using Place = CursorState::Place;
  if (const std::string error = CheckReadable(transaction); !error.empty()) return error;
  const Tree view = transaction.View();
  Keys keys;
  for (const auto& [at, value] : view.values) {
    if (at.first == 0) keys.keys.insert(at.second);
  }
  CursorState& cursor = transaction.cursor;
  Moved moved = keys.Move(call.op, cursor.place == Place::kFresh, cursor.place == Place::kEnd, cursor.key, call.key);
  transaction.NoteReads(PointsOf(0, moved.from, static_cast<char>(moved.to + 1)));
  const bool is_at_key = cursor.place == Place::kAtOrGap && keys.keys.contains(cursor.key);
  // Put does not move: in a gap it finds nothing.
  if (call.op == Op::kCursorPut && !is_at_key) return moved.answer == "OK" ? "NotFound" : moved.answer;
  if (moved.at) cursor = {.place = Place::kAtOrGap, .key = *moved.at, .is_valid = true};
  if (moved.is_fresh) cursor = {.place = Place::kFresh};
  if (moved.is_end) cursor = {.place = Place::kEnd};
  if (moved.answer == "OK" && call.op == Op::kCursorPut)
    moved.answer = Write(transaction, {.op = Op::kPut, .key = cursor.key, .value = call.value});
  if (moved.answer == "OK" && call.op == Op::kCursorDelete)
    moved.answer = Write(transaction, {.op = Op::kDelete, .key = cursor.key});
  if (!cursor.is_valid) return moved.answer;
  return moved.answer + " at " + cursor.key + "=" + view.Get(0, cursor.key);
}

// ---- The state as text ----------------------------------------------------------------------------------------------

inline std::string Model::Transaction::Key() const {
  if (!is_begun) return "-";
  std::string text = std::to_string(static_cast<int>(kind));
  if (!is_open) return text + "ended";
  text += has_map ? "map " : " ";
  text += base.Text() + base.Names();
  for (const Call& write : writes) text += TextOf(write) + (write.op == Op::kDrop ? write.value : ' ') + ";";
  for (const Savepoint& each : savepoints) text += std::to_string(each.writes) + "," + std::to_string(each.used) + " ";
  for (const int keyspace : used) text += "used " + std::to_string(keyspace);
  for (const std::string& point : reads) text += "r" + point;
  for (const std::string& point : overtaken) text += "o" + point;
  return text + std::to_string(static_cast<int>(cursor.place)) + cursor.key + (cursor.is_valid ? "v" : "");
}

inline std::string Model::Key() const {
  std::string text = tree_.Text() + tree_.Names();
  for (const Transaction& each : transactions_) text += "|" + each.Key();
  text += snapshot_ ? "|" + snapshot_->Text() + snapshot_->Names() : "|";
  return text + "|" + (has_map_ ? "map" : "") + std::to_string(keyspaces_) + std::to_string(flushes_) +
         (is_flushed_ ? "f" : "");
}

}  // namespace mergedb::testing::transactions_test
