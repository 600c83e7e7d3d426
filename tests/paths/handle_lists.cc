// The calls that each topic of the model tries in a state, and the text of a state.
#include <initializer_list>
#include <sstream>

#include "tests/paths/handle_model.h"

namespace mergedb::testing::handles {

// Lists calls that may run. A variable with number 1 is used once the one with number 0 was: the two are alike. A
// variable that was never set is used in topic kKinds alone.
class CallList {
 public:
  explicit CallList(const Model& model) : model_(model) {}

  std::vector<Call> Take() { return std::move(calls_); }

  void Add(const Call& call) {
    if (call.space == Space::kNamed && model_.databases_[DatabaseOf(call)].named == 0) return;
    if (model_.MayRun(call)) calls_.push_back(call);
  }

  // A call that sets a variable which holds no open handle.
  void Open(char kind, Call call) {
    if (model_.StateOf(kind, call.a) == State::kOpen) return;
    if (call.a == 0 || IsUsed(kind, 0)) Add(call);
  }

  void On(char kind, std::initializer_list<Op> ops, std::initializer_list<int8_t> numbers = {0, 1}) {
    for (const int8_t number : numbers) {
      if (!IsUsed(kind, number)) continue;
      for (const Op op : ops) Add({.op = op, .a = number});
    }
  }

  // A call with each snapshot, and with none.
  void WithSnapshots(char kind, Call call) {
    const bool has_first_place = call.op == Op::kGet || call.op == Op::kFindKeyspace;
    for (int8_t snapshot = kNone; snapshot < kVariables; ++snapshot) {
      if (snapshot != kNone && !IsUsed('s', snapshot)) continue;
      (has_first_place ? call.b : call.c) = snapshot;
      if (has_first_place) {
        Add(call);
      } else {
        Open(kind, call);
      }
    }
  }

  void InSpaces(Call call, std::initializer_list<Space> spaces) {
    for (const Space space : spaces) {
      call.space = space;
      Add(call);
    }
  }

  void FromBothThreads(Call call) {
    Add(call);
    call.from_second_thread = true;
    Add(call);
  }

  void Reopen(int8_t database) {
    Add({.op = model_.StateOf('d', database) == State::kOpen ? Op::kClose : Op::kOpen, .a = database});
  }

  bool IsUsed(char kind, int8_t number) const {
    return model_.topic_ == Topic::kKinds || model_.StateOf(kind, number) != State::kNever;
  }

  void ForReads();
  void ForBatches();
  void ForTransactions();
  void ForCursors();
  void ForThreads();
  void ForKinds();

 private:
  // The database whose keyspace `x` the call names.
  int8_t DatabaseOf(const Call& call) const {
    if (call.op <= Op::kClearKeyspace) return call.a;
    if (call.op == Op::kIterator) return call.b;
    if (call.op == Op::kBatchPut) return 0;
    const int8_t transaction = call.op == Op::kCursor ? call.b : call.a;
    return model_.transactions_[transaction].of.database;
  }

  const Model& model_;
  std::vector<Call> calls_;
};

namespace {

constexpr Space kDefault = Space::kDefault, kNamed = Space::kNamed, kUnmade = Space::kUnmade;

}  // namespace

void CallList::ForReads() {
  for (int8_t d = 0; d < kVariables; ++d) {
    Reopen(d);
    Add({.op = Op::kPut, .a = d});
    WithSnapshots('d', {.op = Op::kGet, .a = d});
    for (int8_t n = 0; n < kVariables; ++n) Open('s', {.op = Op::kSnapshot, .a = n, .b = d});
    WithSnapshots('i', {.op = Op::kIterator, .a = 0, .b = d});
  }
  Add({.op = Op::kOpen, .a = 0});
  Add({.op = Op::kClose, .a = 0});
  Open('i', {.op = Op::kIterator, .a = 1, .b = 0});
  On('s', {Op::kSequence, Op::kCloseSnapshot});
  On('i', {Op::kFirst, Op::kNext, Op::kEntry, Op::kCloseIterator});
  On('i', {Op::kLast, Op::kPrev, Op::kRead, Op::kFailedKey}, {0});
}

void CallList::ForBatches() {
  Reopen(0);
  Reopen(1);
  InSpaces({.op = Op::kPut, .a = 0}, {kNamed, kUnmade});
  InSpaces({.op = Op::kGet, .a = 0}, {kDefault, kNamed, kUnmade});
  Add({.op = Op::kGet, .a = 1});
  On('d', {Op::kCreateKeyspace, Op::kListKeyspaces}, {0});
  WithSnapshots('d', {.op = Op::kFindKeyspace, .a = 0});
  InSpaces({.op = Op::kDropKeyspace, .a = 0}, {kDefault, kNamed, kUnmade});
  InSpaces({.op = Op::kClearKeyspace, .a = 0}, {kNamed});
  Open('s', {.op = Op::kSnapshot, .a = 0, .b = 0});
  for (const Space space : {kDefault, kNamed, kUnmade}) {
    Call call{.op = Op::kIterator, .a = 0, .b = 0, .space = space};
    if (space != kNamed || model_.databases_[0].named != 0) WithSnapshots('i', call);
  }
  On('i', {Op::kFirst, Op::kEntry, Op::kCloseIterator}, {0});
  for (int8_t b = 0; b < kVariables; ++b) {
    Open('b', {.op = Op::kBatch, .a = b});
    if (!IsUsed('b', b)) continue;
    if (model_.batches_[b].puts.size() < 2) InSpaces({.op = Op::kBatchPut, .a = b}, {kDefault, kNamed, kUnmade});
    for (int8_t n = 0; n < kVariables; ++n) {
      Add({.op = Op::kWrite, .a = n, .b = b});
      if (IsUsed('b', n) && model_.batches_[b].puts.size() + model_.batches_[n].puts.size() <= 3)
        Add({.op = Op::kBatchAppend, .a = b, .b = n});
    }
  }
  On('b', {Op::kBatchClear, Op::kBatchSize, Op::kCloseBatch});
}

void CallList::ForTransactions() {
  Reopen(0);
  InSpaces({.op = Op::kPut, .a = 0}, {kDefault, kNamed});
  Add({.op = Op::kGet, .a = 0});
  Add({.op = Op::kCreateKeyspace, .a = 0});
  InSpaces({.op = Op::kDropKeyspace, .a = 0}, {kNamed});
  Open('s', {.op = Op::kSnapshot, .a = 0, .b = 0});
  On('s', {Op::kCloseSnapshot}, {0});
  for (int8_t t = 0; t < kVariables; ++t) {
    WithSnapshots('t', {.op = Op::kBegin, .a = t, .b = 0});
    WithSnapshots('t', {.op = Op::kBeginReadOnly, .a = t, .b = 0});
    Open('t', {.op = Op::kBeginOptimistic, .a = t, .b = 0});
    if (!IsUsed('t', t)) continue;
    InSpaces({.op = Op::kTransactionGet, .a = t}, {kDefault, kNamed});
    InSpaces({.op = Op::kTransactionPut, .a = t}, {kDefault, kNamed});
  }
  if (IsUsed('s', 0)) Open('t', {.op = Op::kBeginReadOnly, .a = 0, .b = 1, .c = 0});
  On('t', {Op::kCommit, Op::kRollback, Op::kCloseTransaction, Op::kConflict});
  On('t', {Op::kSetSavepoint, Op::kToSavepoint, Op::kReleaseSavepoint, Op::kSize}, {0});
}

void CallList::ForCursors() {
  Reopen(0);
  Add({.op = Op::kPut, .a = 0});
  InSpaces({.op = Op::kDropKeyspace, .a = 0}, {kNamed});
  for (const Op op : {Op::kBegin, Op::kBeginOptimistic, Op::kBeginReadOnly}) Open('t', {.op = op, .a = 0, .b = 0});
  if (IsUsed('t', 0)) {
    InSpaces({.op = Op::kTransactionPut, .a = 0}, {kDefault, kNamed});
    Open('c', {.op = Op::kCursor, .a = 0, .b = 0, .space = kUnmade});
    for (int8_t c = 0; c < kVariables; ++c) {
      for (const Space space : {kDefault, kNamed}) Open('c', {.op = Op::kCursor, .a = c, .b = 0, .space = space});
    }
  }
  On('t', {Op::kCommit, Op::kRollback, Op::kCloseTransaction, Op::kSetSavepoint, Op::kToSavepoint}, {0});
  On('c', {Op::kCursorFirst, Op::kCursorNext, Op::kCursorEntry, Op::kCursorDelete, Op::kCloseCursor});
  On('c', {Op::kCursorPrev, Op::kCursorCurrent, Op::kCursorPut}, {0});
}

void CallList::ForThreads() {
  Reopen(0);
  Open('i', {.op = Op::kIterator, .a = 0, .b = 0});
  Open('b', {.op = Op::kBatch, .a = 0});
  Open('t', {.op = Op::kBegin, .a = 0, .b = 0});
  Open('c', {.op = Op::kCursor, .a = 0, .b = 0});
  for (int8_t t = 0; t < kVariables; ++t) {
    FromBothThreads({.op = Op::kPut, .a = 0});
    if (IsUsed('t', t)) FromBothThreads({.op = Op::kTransactionPut, .a = t});
    if (IsUsed('t', t)) FromBothThreads({.op = Op::kCommit, .a = t});
  }
  for (const Op op : {Op::kFirst, Op::kNext, Op::kCloseIterator}) FromBothThreads({.op = op, .a = 0});
  for (const Op op : {Op::kCursorFirst, Op::kCursorNext, Op::kCursorPut, Op::kCloseCursor})
    FromBothThreads({.op = op, .a = 0});
  FromBothThreads({.op = Op::kCloseTransaction, .a = 0});
  if (model_.StateOf('t', 1) != State::kOpen) {
    FromBothThreads({.op = Op::kBegin, .a = 1, .b = 0});
    FromBothThreads({.op = Op::kBeginOptimistic, .a = 1, .b = 0});
  }
  On('t', {Op::kTransactionGet, Op::kRollback}, {0});
  On('b', {Op::kBatchSize, Op::kCloseBatch}, {0});
  Add({.op = Op::kWrite, .a = 0, .b = 0});
  Add({.op = Op::kBatchAppend, .a = 0, .b = 0});
  for (const char kind : {'i', 'b', 't', 'c'}) {
    if (model_.StateOf(kind, 0) == State::kOpen) Add({.op = Op::kEnter, .a = 0, .kind = kind});
  }
  if (model_.entered_.kind != 0) Add({.op = Op::kLeave, .a = model_.entered_.number, .kind = model_.entered_.kind});
}

void CallList::ForKinds() {
  Reopen(0);
  Reopen(1);
  for (int8_t n = 0; n < kVariables; ++n) {
    Open('i', {.op = Op::kIterator, .a = n, .b = 0});
    Open('s', {.op = Op::kSnapshot, .a = n, .b = 0});
    Open('b', {.op = Op::kBatch, .a = n});
    Open('t', {.op = Op::kBeginReadOnly, .a = n, .b = 0});
    Open('c', {.op = Op::kCursor, .a = n, .b = 0});
    for (const char kind : {'d', 's', 'i', 'b', 't', 'c'}) Add({.op = Op::kAsOthers, .a = n, .kind = kind});
  }
  On('d', {Op::kClose, Op::kGet}, {0});
  On('s', {Op::kSequence, Op::kCloseSnapshot});
  On('i', {Op::kFirst, Op::kCloseIterator});
  On('b', {Op::kBatchSize, Op::kCloseBatch});
  On('t', {Op::kTransactionGet, Op::kCloseTransaction});
  On('c', {Op::kCursorFirst, Op::kCloseCursor});
}

std::vector<Call> Model::Before(Topic topic) {
  const Call create{.op = Op::kCreateKeyspace, .a = 0}, put{.op = Op::kPut, .a = 0};
  switch (topic) {
    case Topic::kReads: return {put};
    case Topic::kBatches: return {create, {.op = Op::kBatch, .a = 0}};
    case Topic::kCursors: return {create, put, {.op = Op::kPut, .a = 0, .space = Space::kNamed}};
    case Topic::kThreads:
      return {put,
              {.op = Op::kIterator, .a = 0, .b = 0},
              {.op = Op::kBatch, .a = 0},
              {.op = Op::kBegin, .a = 0, .b = 0},
              {.op = Op::kCursor, .a = 0, .b = 0}};
    default: return {};
  }
}

std::vector<Call> Model::Calls() const {
  CallList list(*this);
  switch (topic_) {
    case Topic::kReads: list.ForReads(); break;
    case Topic::kBatches: list.ForBatches(); break;
    case Topic::kTransactions: list.ForTransactions(); break;
    case Topic::kCursors: list.ForCursors(); break;
    case Topic::kThreads: list.ForThreads(); break;
    case Topic::kKinds: list.ForKinds(); break;
  }
  return list.Take();
}

// ---- The text of a state -----------------------------------------------------------------------------------------

namespace {

void Print(std::ostream& out, const Contents& contents) {
  for (const auto& [place, value] : contents) out << +place.first << place.second << value;
  out << ';';
}
void Print(std::ostream& out, const std::set<Place>& places) {
  for (const Place& place : places) out << +place.first << place.second;
  out << ';';
}
void Print(std::ostream& out, State state, Opening of) {
  out << '\n' << static_cast<int>(state) << +of.database << +of.number << ' ';
}

}  // namespace

std::string Model::Key() const {
  std::ostringstream out;
  for (const Database& each : databases_) {
    Print(out, each.state, {0, each.openings});
    out << +each.live << +each.made << +each.named << ' ';
    Print(out, each.contents);
  }
  for (const Snapshot& each : snapshots_) {
    Print(out, each.state, each.of);
    out << +each.live;
    Print(out, each.contents);
  }
  for (const Iterator& each : iterators_) {
    Print(out, each.state, each.of);
    for (const auto& [key, value] : each.shown) out << key << value;
    out << ';' << each.at;
  }
  for (const Batch& each : batches_) {
    Print(out, each.state, {});
    for (const uint8_t keyspace : each.puts) out << +keyspace << ',';
  }
  for (const Transaction& each : transactions_) {
    Print(out, each.state, each.of);
    out << static_cast<int>(each.kind) << each.has_ended << each.has_conflict << each.from_second_thread << ' ';
    Print(out, each.base);
    for (const auto& write : each.writes) out << +write.place.first << write.place.second << write.value << ',';
    for (const size_t savepoint : each.savepoints) out << savepoint << '^';
    Print(out, each.reads);
    Print(out, each.written);
  }
  for (const Cursor& each : cursors_) {
    Print(out, each.state, {each.transaction, static_cast<uint8_t>(each.is_detached)});
    const bool is_of_present = each.transaction != kNone && each.serial == transactions_[each.transaction].serial;
    out << is_of_present << +each.keyspace << static_cast<int>(each.stands) << static_cast<int>(each.shows) << each.key;
  }
  out << entered_.kind << +entered_.number;
  return std::move(out).str();
}

}  // namespace mergedb::testing::handles
