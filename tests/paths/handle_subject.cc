#include "tests/paths/handle_subject.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/assert.h"
#include "c/handles.h"
#include "c/interface.h"
#include "testing/seed.h"

namespace mergedb::testing::handles {
namespace {

constexpr mergedb_keyspace kUnmadeKeyspace = 0x7fff'fff0;

std::string Answer(int32_t code) { return mergedb_code_name(code); }

// What a call without a value answers, or one that returned a value.
std::string Answer(int32_t code, const std::string& value) {
  return code == MERGEDB_OK ? Answer(code) + " " + value : Answer(code);
}

std::string TakeValue(int32_t code, void* value, size_t size) {
  if (code != MERGEDB_OK) return Answer(code) + (value == nullptr && size == 0 ? "" : ", and a value");
  const std::string text(static_cast<const char*>(value), size);
  mergedb_free(value);
  return Answer(code, text);
}

std::string TextOf(int32_t code, const mergedb_slice& key, const mergedb_slice& value) {
  if (code != MERGEDB_OK) return Answer(code) + (key.data == nullptr && value.data == nullptr ? "" : ", and an entry");
  return Answer(code, std::string(static_cast<const char*>(key.data), key.size) + "=" +
                          std::string(static_cast<const char*>(value.data), value.size));
}

void Must(mergedb_code code) { ASSERT(code == MERGEDB_OK, "the databases of the test work"); }

mergedb_write_options WriteIn(mergedb_keyspace keyspace) {
  return {.struct_size = sizeof(mergedb_write_options), .durability = MERGEDB_PROCESS_CRASH, .keyspace = keyspace};
}

mergedb_read_options ReadIn(mergedb_keyspace keyspace, mergedb_snapshot snapshot) {
  mergedb_read_options options{};
  options.struct_size = sizeof options;
  options.snapshot = snapshot;
  options.keyspace = keyspace;
  return options;
}

std::string GetIn(mergedb_db db, const mergedb_read_options& options) {
  void* value = nullptr;
  size_t size = 0;
  const mergedb_code code = mergedb_get(db, &options, "b", 1, &value, &size, nullptr);
  return TakeValue(code, value, size);
}

}  // namespace

// ---- The databases -----------------------------------------------------------------------------------------------

Home::Home() {
  for (int8_t i = 0; i < kVariables; ++i) {
    Must(Open(i, &databases[i]));
    mergedb_keyspace made = 0;  // so that each path finds the database's map of keyspaces
    Must(mergedb_keyspace_create(databases[i], "x", 1, MERGEDB_YES, &made, nullptr));
    Restore(i, &databases[i]);
  }
}

Home::~Home() {
  for (const mergedb_db db : databases) Must(mergedb_close(db, nullptr));
}

mergedb_code Home::Open(int8_t number, mergedb_db* db) const {
  mergedb_options options{};
  options.struct_size = sizeof options;
  options.memory_bytes = 1 << 20;
  options.write_buffer_bytes = 64 << 10;
  const std::string path = directory_ / std::string(1, static_cast<char>('0' + number));
  return mergedb_open(path.c_str(), &options, db, nullptr);
}

void Home::Restore(int8_t number, mergedb_db* db) const {
  const char value = static_cast<char>('0' + number);
  if (mergedb_put(*db, nullptr, "a", 1, &value, 1, nullptr) == MERGEDB_BAD_HANDLE) {
    Must(Open(number, db));
    Must(mergedb_put(*db, nullptr, "a", 1, &value, 1, nullptr));
  }
  Must(mergedb_delete(*db, nullptr, "b", 1, nullptr));
  mergedb_keyspace keyspace = 0;
  if (mergedb_keyspace_open(*db, nullptr, "x", 1, &keyspace, nullptr) == MERGEDB_OK)
    Must(mergedb_keyspace_drop(*db, nullptr, keyspace, nullptr));
}

// ---- The second thread -------------------------------------------------------------------------------------------

SecondThread::SecondThread() : thread_([this] { Work(); }) {}

SecondThread::~SecondThread() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

bool SecondThread::Run(std::function<void()> call) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return call_ == nullptr; });  // a call that Run has given up
  call_ = std::move(call);
  changed_.notify_all();
  return changed_.wait_for(lock, std::chrono::seconds(20), [this] { return call_ == nullptr; });
}

void SecondThread::Work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return is_ending_ || call_ != nullptr; });
    if (call_ == nullptr) return;
    const auto call = call_;
    lock.unlock();
    call();
    lock.lock();
    call_ = nullptr;
    changed_.notify_all();
  }
}

// A call that the second thread has begun: the handle is pinned, and a transaction is locked.
struct Handles::Inside {
  char kind = 0;
  uint64_t handle = 0;
  std::shared_ptr<c::SharedTransaction> locked;
};

namespace {

c::HandleKind KindOf(char kind) {
  switch (kind) {
    case 'i': return c::HandleKind::kIterator;
    case 'b': return c::HandleKind::kBatch;
    case 't': return c::HandleKind::kTransaction;
    default: return c::HandleKind::kCursor;
  }
}

SecondThread& TheSecondThread() {
  static SecondThread thread;
  return thread;
}

}  // namespace

void Handles::Enter(const Call& call) {
  c::Object* object = nullptr;
  inside_ = std::make_unique<Inside>();
  inside_->handle = Of(call.kind, call.a);
  const c::PinOutcome outcome = c::HandleTable::Global().Pin(inside_->handle, KindOf(call.kind), &object);
  ASSERT(outcome == c::PinOutcome::kPinned, "the model enters open handles");
  if (call.kind == 't') inside_->locked = static_cast<c::TransactionHolder*>(object)->shared;
  if (call.kind == 'c') inside_->locked = static_cast<c::CursorHolder*>(object)->shared;
  if (inside_->locked != nullptr) inside_->locked->mutex.lock();
}

// ---- What a crash and a hang tell --------------------------------------------------------------------------------

namespace {

constexpr unsigned kSecondsMax = 300;  // of a path

std::array<char, 4096> path_text;  // of the path that runs
size_t path_bytes = 0;

void Note(const std::string& call) {
  const size_t bytes = std::min(call.size(), path_text.size() - path_bytes);
  std::memcpy(path_text.data() + path_bytes, call.data(), bytes);
  path_bytes += bytes;
}

void TellPath(int signal) {
  constexpr std::string_view kBegin = "\nThe path that crashes or hangs:";
  (void)!write(STDERR_FILENO, kBegin.data(), kBegin.size());
  (void)!write(STDERR_FILENO, path_text.data(), path_bytes);
  (void)!write(STDERR_FILENO, "\n", 1);
  (void)std::signal(signal, SIG_DFL);
  (void)raise(signal);
}

void BeginPath() {
  path_bytes = 0;
  alarm(kSecondsMax);
  (void)std::signal(SIGALRM, TellPath);
  (void)std::signal(SIGABRT, TellPath);
  if (kInstrumentedFactor == 1) (void)std::signal(SIGSEGV, TellPath);  // a sanitizer tells more itself
}

}  // namespace

// ---- The calls ---------------------------------------------------------------------------------------------------

Handles::Handles(Home* home, Topic topic) : home_(*home), databases_(home->databases) {
  BeginPath();
  for (const Call& call : Model::Before(topic)) Must(Do(call).starts_with("OK") ? MERGEDB_OK : MERGEDB_ABORTED);
}

Handles::~Handles() {
  if (inside_ != nullptr) (void)Do({.op = Op::kLeave});
  for (const mergedb_cursor each : cursors_) (void)mergedb_cursor_close(each, nullptr);
  for (const mergedb_transaction each : transactions_) (void)mergedb_transaction_close(each, nullptr);
  (void)TheSecondThread().Run([] {});  // a call that waited for a transaction
  for (const mergedb_batch each : batches_) (void)mergedb_batch_close(each, nullptr);
  for (const mergedb_iterator each : iterators_) (void)mergedb_iterator_close(each, nullptr);
  for (const mergedb_snapshot each : snapshots_) (void)mergedb_snapshot_close(each, nullptr);
  for (int8_t i = 0; i < kVariables; ++i) {
    if (is_changed_[i]) home_.Restore(i, &databases_[i]);
  }
  alarm(0);
}

std::string Handles::Do(const Call& call) {
  Note(" " + ToText(call) + ";");
  if (call.op != Op::kEnter && call.op != Op::kLeave && !call.from_second_thread) return Make(call);
  const auto answer = std::make_shared<std::string>();  // of a call that may outlive this one
  const bool has_ended = TheSecondThread().Run([this, call, answer] {
    std::string made = Answer(MERGEDB_OK);
    if (call.op == Op::kEnter) {
      Enter(call);
    } else if (call.op == Op::kLeave) {
      if (inside_->locked != nullptr) inside_->locked->mutex.unlock();
      c::HandleTable::Global().Unpin(inside_->handle);
      inside_ = nullptr;
    } else {
      made = Make(call);
    }
    *answer = made;
  });
  return has_ended ? *answer : "waits for ever";
}

std::string Handles::Make(const Call& call) {
  std::string answer;
  if (call.op == Op::kAsOthers) return AsOthers(call);
  if (call.op <= Op::kWrite) {
    answer = DoDatabase(call);
  } else if (call.op <= Op::kClearKeyspace) {
    answer = DoKeyspace(call);
  } else if (call.op <= Op::kCloseSnapshot) {
    answer = DoSnapshot(call);
  } else if (call.op <= Op::kCloseIterator) {
    answer = DoIterator(call);
  } else if (call.op <= Op::kCloseBatch) {
    answer = DoBatch(call);
  } else {
    answer = call.op <= Op::kCloseTransaction ? DoTransaction(call) : DoCursor(call);
  }
  if (call.op == Op::kGet || call.op == Op::kFindKeyspace || call.op == Op::kListKeyspaces) return answer;
  if (call.op <= Op::kClearKeyspace && answer.starts_with("OK")) is_changed_[call.a] = true;
  if (call.op == Op::kCommit && answer == "OK") is_changed_[database_of_[call.a]] = true;
  return answer;
}

template <typename Function>
std::string Handles::Set(uint64_t* variable, const Function& make) {
  uint64_t handle = 0x5555'5555'5555'5555;
  const mergedb_code code = make(&handle);
  if (code != MERGEDB_OK) return Answer(code) + (handle == 0 ? "" : ", and a handle");
  *variable = handle;
  return Answer(code);
}

uint64_t Handles::Of(char kind, int8_t number) const {
  switch (kind) {
    case 'd': return databases_[number];
    case 's': return snapshots_[number];
    case 'i': return iterators_[number];
    case 'b': return batches_[number];
    case 't': return transactions_[number];
    default: return cursors_[number];
  }
}

mergedb_keyspace Handles::KeyspaceOf(int8_t database, Space space) const {
  if (space == Space::kUnmade) return kUnmadeKeyspace;
  return space == Space::kDefault ? 0 : keyspaces_[database].back();
}

std::string Handles::DoDatabase(const Call& call) {
  const mergedb_db db = databases_[call.a];
  const mergedb_keyspace keyspace = KeyspaceOf(call.a, call.space);
  switch (call.op) {
    case Op::kOpen: return Set(&databases_[call.a], [&](uint64_t* to) { return home_.Open(call.a, to); });
    case Op::kClose: return Answer(mergedb_close(db, nullptr));
    case Op::kPut: {
      const mergedb_write_options options = WriteIn(keyspace);
      return Answer(mergedb_put(db, &options, "b", 1, "p", 1, nullptr));
    }
    case Op::kGet: return GetIn(db, ReadIn(keyspace, SnapshotOf(call.b)));
    default: return Answer(mergedb_write(db, nullptr, batches_[call.b], nullptr));
  }
}

std::string Handles::DoKeyspace(const Call& call) {
  const mergedb_db db = databases_[call.a];
  const mergedb_keyspace keyspace = KeyspaceOf(call.a, call.space);
  std::vector<mergedb_keyspace>& made = keyspaces_[call.a];
  switch (call.op) {
    case Op::kCreateKeyspace: {
      mergedb_keyspace created = 7;
      const mergedb_code code = mergedb_keyspace_create(db, "x", 1, MERGEDB_NO, &created, nullptr);
      if (code != MERGEDB_OK) return Answer(code) + (created == 0 ? "" : ", and a keyspace");
      made.push_back(created);
      return Answer(code, std::to_string(made.size()));
    }
    case Op::kFindKeyspace: {
      mergedb_keyspace found = 7;
      const mergedb_read_options options = ReadIn(0, SnapshotOf(call.b));
      const mergedb_code code = mergedb_keyspace_open(db, &options, "x", 1, &found, nullptr);
      if (code != MERGEDB_OK) return Answer(code) + (found == 0 ? "" : ", and a keyspace");
      size_t index = 0;
      while (index < made.size() && made[index] != found) ++index;
      return Answer(code, std::to_string(index + 1));
    }
    case Op::kListKeyspaces: {
      mergedb_keyspace_entry* entries = nullptr;
      size_t count = 0;
      const mergedb_code code = mergedb_keyspace_list(db, nullptr, &entries, &count, nullptr);
      mergedb_free(entries);
      return Answer(code, std::to_string(count));
    }
    case Op::kDropKeyspace: return Answer(mergedb_keyspace_drop(db, nullptr, keyspace, nullptr));
    default: return Answer(mergedb_keyspace_clear(db, nullptr, keyspace, nullptr));
  }
}

std::string Handles::DoSnapshot(const Call& call) {
  if (call.op == Op::kSnapshot) {
    return Set(&snapshots_[call.a],
               [&](uint64_t* to) { return mergedb_snapshot_create(databases_[call.b], to, nullptr); });
  }
  if (call.op == Op::kCloseSnapshot) return Answer(mergedb_snapshot_close(snapshots_[call.a], nullptr));
  uint64_t sequence = 0;
  return Answer(mergedb_snapshot_sequence(snapshots_[call.a], &sequence, nullptr));
}

std::string Handles::DoIterator(const Call& call) {
  const mergedb_iterator iterator = iterators_[call.a];
  mergedb_slice key{}, value{};
  switch (call.op) {
    case Op::kIterator: {
      const mergedb_read_options read = ReadIn(0, SnapshotOf(call.c));
      mergedb_iterator_options options{};
      options.struct_size = sizeof options;
      options.read = &read;
      options.keyspace = KeyspaceOf(call.b, call.space);
      return Set(&iterators_[call.a],
                 [&](uint64_t* to) { return mergedb_iterator_create(databases_[call.b], &options, to, nullptr); });
    }
    case Op::kFirst: return Answer(mergedb_iterator_seek_to_first(iterator, nullptr));
    case Op::kLast: return Answer(mergedb_iterator_seek_to_last(iterator, nullptr));
    case Op::kNext: return Answer(mergedb_iterator_next(iterator, nullptr));
    case Op::kPrev: return Answer(mergedb_iterator_prev(iterator, nullptr));
    case Op::kEntry: {
      const mergedb_code code = mergedb_iterator_entry(iterator, &key, &value, nullptr);
      return TextOf(code, key, value);
    }
    case Op::kFailedKey: return Answer(mergedb_iterator_failed_key(iterator, &key, nullptr));
    case Op::kCloseIterator: return Answer(mergedb_iterator_close(iterator, nullptr));
    default: break;
  }
  char buffer[256];
  size_t used = 0, count = 0;
  const mergedb_code code = mergedb_iterator_read(iterator, MERGEDB_NO, buffer, sizeof buffer, &used, &count, nullptr);
  std::string text = Answer(code);
  for (size_t at = 0; at < used; at += 10) {  // two sizes, a key and a value of one byte each
    text += std::string(" ") + buffer[at + 8] + "=" + buffer[at + 9];
  }
  return text;
}

std::string Handles::DoBatch(const Call& call) {
  const mergedb_batch batch = batches_[call.a];
  switch (call.op) {
    case Op::kBatch: return Set(&batches_[call.a], [](uint64_t* to) { return mergedb_batch_create(to, nullptr); });
    case Op::kBatchPut: {
      const mergedb_code code = mergedb_batch_set_keyspace(batch, KeyspaceOf(0, call.space), nullptr);
      return Answer(code != MERGEDB_OK ? code : mergedb_batch_put(batch, "b", 1, "q", 1, nullptr));
    }
    case Op::kBatchClear: return Answer(mergedb_batch_clear(batch, nullptr));
    case Op::kBatchSize: {
      uint64_t count = 0;
      const mergedb_code code = mergedb_batch_size(batch, &count, nullptr, nullptr);
      return Answer(code, std::to_string(count));
    }
    case Op::kBatchAppend: return Answer(mergedb_batch_append(batch, batches_[call.b], nullptr));
    default: return Answer(mergedb_batch_close(batch, nullptr));
  }
}

std::string Handles::DoTransaction(const Call& call) {
  if (call.op > Op::kBeginReadOnly) return DoOpenTransaction(call);
  mergedb_transaction_options options{};
  options.struct_size = sizeof options;
  options.kind = static_cast<int32_t>(call.op) - static_cast<int32_t>(Op::kBegin);
  options.wait_us_max = 1;
  options.snapshot = SnapshotOf(call.c);
  const std::string answer = Set(&transactions_[call.a], [&](uint64_t* to) {
    return mergedb_transaction_begin(databases_[call.b], &options, to, nullptr);
  });
  if (answer == "OK") database_of_[call.a] = call.b;
  return answer;
}

std::string Handles::DoOpenTransaction(const Call& call) {
  const mergedb_transaction transaction = transactions_[call.a];
  const mergedb_keyspace keyspace = KeyspaceOf(database_of_[call.a], call.space);
  void* value = nullptr;
  size_t size = 0;
  switch (call.op) {
    case Op::kTransactionGet: {
      const mergedb_code code = mergedb_transaction_get(transaction, keyspace, "b", 1, &value, &size, nullptr);
      return TakeValue(code, value, size);
    }
    case Op::kTransactionPut: return Answer(mergedb_transaction_put(transaction, keyspace, "b", 1, "t", 1, nullptr));
    case Op::kCommit: return Answer(mergedb_transaction_commit(transaction, nullptr));
    case Op::kRollback: return Answer(mergedb_transaction_rollback(transaction, nullptr));
    case Op::kSetSavepoint: return Answer(mergedb_transaction_set_savepoint(transaction, nullptr));
    case Op::kToSavepoint: return Answer(mergedb_transaction_rollback_to_savepoint(transaction, nullptr));
    case Op::kReleaseSavepoint: return Answer(mergedb_transaction_release_savepoint(transaction, nullptr));
    case Op::kConflict: {
      const mergedb_code code = mergedb_transaction_conflict(transaction, nullptr, &value, &size, nullptr);
      mergedb_free(value);
      return Answer(code);
    }
    case Op::kSize: {
      uint64_t writes = 0;
      const mergedb_code code = mergedb_transaction_size(transaction, nullptr, &writes, nullptr, nullptr);
      return Answer(code, std::to_string(writes));
    }
    default: return Answer(mergedb_transaction_close(transaction, nullptr));
  }
}

std::string Handles::DoCursor(const Call& call) {
  const mergedb_cursor cursor = cursors_[call.a];
  const auto move = [&](int32_t to) { return Answer(mergedb_cursor_move(cursor, to, nullptr, 0, nullptr)); };
  switch (call.op) {
    case Op::kCursor: {
      const mergedb_keyspace keyspace = KeyspaceOf(database_of_[call.b], call.space);
      return Set(&cursors_[call.a],
                 [&](uint64_t* to) { return mergedb_cursor_open(transactions_[call.b], keyspace, to, nullptr); });
    }
    case Op::kCursorFirst: return move(MERGEDB_TO_FIRST);
    case Op::kCursorNext: return move(MERGEDB_TO_NEXT);
    case Op::kCursorPrev: return move(MERGEDB_TO_PREV);
    case Op::kCursorCurrent: return move(MERGEDB_TO_CURRENT);
    case Op::kCursorEntry: {
      mergedb_slice key{}, value{};
      const mergedb_code code = mergedb_cursor_entry(cursor, &key, &value, nullptr);
      return TextOf(code, key, value);
    }
    case Op::kCursorPut: return Answer(mergedb_cursor_put(cursor, "c", 1, nullptr));
    case Op::kCursorDelete: return Answer(mergedb_cursor_delete(cursor, nullptr));
    default: return Answer(mergedb_cursor_close(cursor, nullptr));
  }
}

}  // namespace mergedb::testing::handles
