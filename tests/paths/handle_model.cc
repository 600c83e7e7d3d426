#include "tests/paths/handle_model.h"

#include <algorithm>

#include "base/assert.h"
#include "mergedb/c.h"

namespace mergedb::testing::handles {
namespace {

std::string Answer(int32_t code) { return mergedb_code_name(code); }
std::string Answer(int32_t code, const std::string& value) { return Answer(code) + " " + value; }
std::string Entry(char key, char value) { return std::string{key, '=', value}; }

constexpr char kFirstKey = 'a', kLastKey = 'b';

}  // namespace

Model::Model(Topic topic) : topic_(topic) {
  for (int8_t i = 0; i < kVariables; ++i) databases_[i].contents[{0, 'a'}] = static_cast<char>('0' + i);
  for (const Call& call : Before(topic)) (void)Do(call);
}

std::string Model::Do(const Call& call) {
  from_second_thread_ = call.from_second_thread;
  switch (call.op) {
    case Op::kAsOthers: return "";
    case Op::kEnter:
    case Op::kLeave: return DoSecondThread(call);
    default: break;
  }
  if (call.op <= Op::kWrite) return DoDatabase(call);
  if (call.op <= Op::kClearKeyspace) return DoKeyspace(call);
  if (call.op <= Op::kCloseSnapshot) return DoSnapshot(call);
  if (call.op <= Op::kCloseIterator) return DoIterator(call);
  if (call.op <= Op::kCloseBatch) return DoBatch(call);
  return call.op <= Op::kCloseTransaction ? DoTransaction(call) : DoCursor(call);
}

// ---- What several kinds share ------------------------------------------------------------------------------------

bool Model::IsOpen(Opening of) const {
  return databases_[of.database].state == State::kOpen && databases_[of.database].openings == of.number;
}

uint8_t Model::KeyspaceOf(int8_t database, Space space) const {
  if (space == Space::kUnmade) return kUnmadeId;
  return space == Space::kDefault ? uint8_t{0} : databases_[database].named;
}

State Model::StateOf(char kind, int8_t number) const {
  switch (kind) {
    case 'd': return databases_[number].state;
    case 's': return snapshots_[number].state;
    case 'i': return iterators_[number].state;
    case 'b': return batches_[number].state;
    case 't': return transactions_[number].state;
    default: return cursors_[number].state;
  }
}

int32_t Model::CheckSnapshot(int8_t snapshot, int8_t database) const {
  if (snapshot == kNone || snapshots_[snapshot].state == State::kNever) return MERGEDB_OK;  // 0: the newest state
  if (snapshots_[snapshot].state != State::kOpen) return MERGEDB_BAD_HANDLE;
  return snapshots_[snapshot].of == OpeningOf(database) ? MERGEDB_OK : MERGEDB_INVALID_ARGUMENT;
}

const Transaction* Model::WriterOf(int8_t database) const {
  for (const Transaction& each : transactions_) {
    if (each.state == State::kOpen && !each.has_ended && each.kind == TransactionKind::kSingleWriter &&
        each.of == OpeningOf(database)) {
      return &each;
    }
  }
  return nullptr;
}

// REQUIRES: the call does not wait for the single writer (MayRun), so this thread made the single writer's last call.
int32_t Model::CheckWrite(int8_t database, const std::vector<uint8_t>& keyspaces, const Transaction* by) const {
  if (std::ranges::count(keyspaces, kUnmadeId) > 0) return MERGEDB_INVALID_ARGUMENT;
  if (const Transaction* const writer = WriterOf(database); writer != nullptr && writer != by) return MERGEDB_BUSY;
  for (const uint8_t keyspace : keyspaces) {
    if (keyspace != 0 && keyspace != databases_[database].live) return MERGEDB_INVALID_ARGUMENT;
  }
  return MERGEDB_OK;
}

void Model::Apply(int8_t database, const std::vector<Transaction::Write>& writes, int8_t by) {
  for (const Transaction::Write& write : writes) {
    if (write.value != 0) {
      databases_[database].contents[write.place] = write.value;
    } else {
      databases_[database].contents.erase(write.place);
    }
    for (int8_t i = 0; i < kVariables; ++i) {
      Transaction& other = transactions_[i];
      if (i == by || other.kind != TransactionKind::kOptimistic || other.has_ended) continue;
      if (other.state == State::kOpen && other.of == OpeningOf(database)) other.written.insert(write.place);
    }
  }
}

// ---- Databases and keyspaces -------------------------------------------------------------------------------------

std::string Model::DoDatabase(const Call& call) {
  Database& database = databases_[call.a];
  if (call.op == Op::kOpen) {
    if (database.state == State::kOpen) return Answer(MERGEDB_BUSY);
    database.state = State::kOpen;
    ++database.openings;
    return Answer(MERGEDB_OK);
  }
  if (database.state != State::kOpen) return Answer(MERGEDB_BAD_HANDLE);
  const uint8_t keyspace = KeyspaceOf(call.a, call.space);
  switch (call.op) {
    case Op::kClose: database.state = State::kClosed; return Answer(MERGEDB_OK);
    case Op::kPut: {
      const int32_t code = CheckWrite(call.a, {keyspace});
      if (code == MERGEDB_OK) Apply(call.a, {{.place = {keyspace, 'b'}, .value = 'p'}});
      return Answer(code);
    }
    case Op::kGet: {
      if (const int32_t code = CheckSnapshot(call.b, call.a); code != MERGEDB_OK) return Answer(code);
      if (keyspace == kUnmadeId) return Answer(MERGEDB_INVALID_ARGUMENT);
      const bool has_snapshot = call.b != kNone && snapshots_[call.b].state == State::kOpen;
      const Contents& contents = has_snapshot ? snapshots_[call.b].contents : database.contents;
      const auto found = contents.find({keyspace, 'b'});
      return found == contents.end() ? Answer(MERGEDB_NOT_FOUND) : Answer(MERGEDB_OK, {found->second});
    }
    default: break;
  }
  const Batch& batch = batches_[call.b];
  if (batch.state != State::kOpen) return Answer(MERGEDB_BAD_HANDLE);
  if (entered_ == Entered{'b', call.b}) return Answer(MERGEDB_BUSY);
  if (batch.puts.empty()) return Answer(MERGEDB_OK);
  const int32_t code = CheckWrite(call.a, batch.puts);
  if (code != MERGEDB_OK) return Answer(code);
  for (const uint8_t each : batch.puts) Apply(call.a, {{.place = {each, 'b'}, .value = 'q'}});
  return Answer(code);
}

std::string Model::DoKeyspace(const Call& call) {
  Database& database = databases_[call.a];
  if (database.state != State::kOpen) return Answer(MERGEDB_BAD_HANDLE);
  const uint8_t keyspace = KeyspaceOf(call.a, call.space);
  switch (call.op) {
    case Op::kCreateKeyspace:
      if (WriterOf(call.a) != nullptr) return Answer(MERGEDB_BUSY);
      if (database.live != 0) return Answer(MERGEDB_INVALID_ARGUMENT);
      database.live = database.named = ++database.made;
      return Answer(MERGEDB_OK, std::to_string(database.live));
    case Op::kFindKeyspace: {
      if (const int32_t code = CheckSnapshot(call.b, call.a); code != MERGEDB_OK) return Answer(code);
      const bool has_snapshot = call.b != kNone && snapshots_[call.b].state == State::kOpen;
      const uint8_t found = has_snapshot ? snapshots_[call.b].live : database.live;
      return found == 0 ? Answer(MERGEDB_NOT_FOUND) : Answer(MERGEDB_OK, std::to_string(found));
    }
    case Op::kListKeyspaces: return Answer(MERGEDB_OK, database.live == 0 ? "0" : "1");
    default: break;
  }
  if (keyspace == 0) return Answer(MERGEDB_INVALID_ARGUMENT);
  const int32_t code = CheckWrite(call.a, {keyspace});
  if (code != MERGEDB_OK) return Answer(code);
  for (char key = kFirstKey; key <= kLastKey; ++key) Apply(call.a, {{.place = {keyspace, key}}});
  if (call.op == Op::kDropKeyspace) database.live = 0;
  return Answer(MERGEDB_OK);
}

// ---- Snapshots and iterators -------------------------------------------------------------------------------------

std::string Model::DoSnapshot(const Call& call) {
  Snapshot& snapshot = snapshots_[call.a];
  if (call.op == Op::kSnapshot) {
    const Database& database = databases_[call.b];
    if (database.state != State::kOpen) return Answer(MERGEDB_BAD_HANDLE);
    snapshot = {.state = State::kOpen, .of = OpeningOf(call.b), .contents = database.contents, .live = database.live};
    return Answer(MERGEDB_OK);
  }
  if (snapshot.state != State::kOpen) return Answer(MERGEDB_BAD_HANDLE);
  if (call.op == Op::kCloseSnapshot) snapshot.state = State::kClosed;
  return Answer(MERGEDB_OK);
}

std::string Model::DoIterator(const Call& call) {
  Iterator& iterator = iterators_[call.a];
  if (call.op == Op::kIterator) {
    const Database& database = databases_[call.b];
    if (database.state != State::kOpen) return Answer(MERGEDB_BAD_HANDLE);
    if (const int32_t code = CheckSnapshot(call.c, call.b); code != MERGEDB_OK) return Answer(code);
    const uint8_t keyspace = KeyspaceOf(call.b, call.space);
    if (keyspace == kUnmadeId) return Answer(MERGEDB_INVALID_ARGUMENT);
    const bool has_snapshot = call.c != kNone && snapshots_[call.c].state == State::kOpen;
    iterator = {.state = State::kOpen, .of = OpeningOf(call.b), .shown = {}};
    for (const auto& [place, value] : has_snapshot ? snapshots_[call.c].contents : database.contents) {
      if (place.first == keyspace) iterator.shown[place.second] = value;
    }
    return Answer(MERGEDB_OK);
  }
  if (iterator.state != State::kOpen) return Answer(MERGEDB_BAD_HANDLE);
  if (entered_ == Entered{'i', call.a}) return Answer(MERGEDB_BUSY);
  if (call.op == Op::kCloseIterator) {
    iterator.state = State::kClosed;
    return Answer(MERGEDB_OK);
  }
  if (call.op == Op::kFailedKey) return Answer(IsOpen(iterator.of) ? MERGEDB_NOT_FOUND : MERGEDB_SHUTTING_DOWN);
  if (!IsOpen(iterator.of)) return Answer(MERGEDB_SHUTTING_DOWN);
  return MoveIterator(iterator, call.op);
}

std::string Model::MoveIterator(Iterator& iterator, Op op) {
  const std::map<char, char>& shown = iterator.shown;
  const auto at = shown.find(iterator.at);
  switch (op) {
    case Op::kFirst: iterator.at = shown.empty() ? '\0' : shown.begin()->first; break;
    case Op::kLast: iterator.at = shown.empty() ? '\0' : shown.rbegin()->first; break;
    case Op::kNext:
      if (at != shown.end()) iterator.at = std::next(at) == shown.end() ? '\0' : std::next(at)->first;
      break;
    case Op::kPrev:
      if (at != shown.end()) iterator.at = at == shown.begin() ? '\0' : std::prev(at)->first;
      break;
    case Op::kEntry:
      return at == shown.end() ? Answer(MERGEDB_NOT_FOUND) : Answer(MERGEDB_OK, Entry(at->first, at->second));
    default: {  // kRead
      if (at == shown.end()) return Answer(MERGEDB_NOT_FOUND);
      std::string text;
      for (auto each = at; each != shown.end(); ++each) text += " " + Entry(each->first, each->second);
      iterator.at = 0;
      return Answer(MERGEDB_OK) + text;
    }
  }
  return Answer(iterator.at == 0 ? MERGEDB_NOT_FOUND : MERGEDB_OK);
}

// ---- Batches -----------------------------------------------------------------------------------------------------

std::string Model::DoBatch(const Call& call) {
  Batch& batch = batches_[call.a];
  if (call.op == Op::kBatch) {
    batch = {.state = State::kOpen, .puts = {}};
    return Answer(MERGEDB_OK);
  }
  if (batch.state != State::kOpen) return Answer(MERGEDB_BAD_HANDLE);
  if (entered_ == Entered{'b', call.a}) return Answer(MERGEDB_BUSY);
  switch (call.op) {
    case Op::kBatchPut: batch.puts.push_back(KeyspaceOf(0, call.space)); break;
    case Op::kBatchClear: batch.puts.clear(); break;
    case Op::kBatchSize: return Answer(MERGEDB_OK, std::to_string(batch.puts.size()));
    case Op::kBatchAppend: {
      if (call.a == call.b) return Answer(MERGEDB_INVALID_ARGUMENT);
      const Batch& source = batches_[call.b];
      if (source.state != State::kOpen) return Answer(MERGEDB_BAD_HANDLE);
      if (entered_ == Entered{'b', call.b}) return Answer(MERGEDB_BUSY);
      batch.puts.insert(batch.puts.end(), source.puts.begin(), source.puts.end());
      break;
    }
    default: batch.state = State::kClosed;
  }
  return Answer(MERGEDB_OK);
}

// ---- A second thread ---------------------------------------------------------------------------------------------

std::string Model::DoSecondThread(const Call& call) {
  entered_ = call.op == Op::kEnter ? Entered{call.kind, call.a} : Entered{};
  return Answer(MERGEDB_OK);
}

// True if a second thread is inside of a call on this transaction or on one of its cursors.
bool Model::IsInUse(uint8_t serial) const {
  if (entered_.kind == 't') return transactions_[entered_.number].serial == serial;
  return entered_.kind == 'c' && cursors_[entered_.number].serial == serial;
}

bool Model::MayRun(const Call& call) const {
  if (call.op == Op::kLeave) return true;
  if (entered_.kind != 0 && (call.from_second_thread || call.op == Op::kEnter)) return false;
  if (call.op == Op::kCursorEntry && cursors_[call.a].shows == Cursor::Shows::kUnspecified) return false;
  // The number of a keyspace means nothing in another database.
  if (call.op == Op::kWrite && call.a == 1 &&
      std::ranges::any_of(batches_[call.b].puts, [](uint8_t keyspace) { return keyspace != 0; })) {
    return false;
  }
  return !WaitsForWriter(call) && !WaitsForUser(call);
}

// A write waits for a single writer whose last call another thread made.
bool Model::WaitsForWriter(const Call& call) const {
  int8_t database = call.a;
  if (call.op == Op::kCommit) {
    if (transactions_[call.a].state != State::kOpen || transactions_[call.a].has_ended) return false;
    database = transactions_[call.a].of.database;
  } else if (call.op != Op::kPut && call.op != Op::kWrite && call.op != Op::kCreateKeyspace &&
             call.op != Op::kDropKeyspace && call.op != Op::kClearKeyspace) {
    return false;
  }
  const Transaction* const writer = WriterOf(database);
  if (writer == nullptr || (call.op == Op::kCommit && writer == &transactions_[call.a])) return false;
  return writer->from_second_thread != call.from_second_thread;
}

// The close of a transaction and of a cursor waits for a call on the other one.
bool Model::WaitsForUser(const Call& call) const {
  if (call.op == Op::kCloseTransaction) return entered_.kind == 'c' && IsInUse(transactions_[call.a].serial);
  if (call.op != Op::kCloseCursor || entered_ == Entered{'c', call.a}) return false;
  return IsInUse(cursors_[call.a].serial);
}

}  // namespace mergedb::testing::handles
