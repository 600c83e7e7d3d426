// Every allocation of a call that reads fails once (docs/decisions/0017-out-of-memory.md): the call throws
// std::bad_alloc or succeeds, the same call then gives the right answer, and the process goes on.
// Method: each case runs in a process of its own on a copy of the same database. Only allocations of the calling thread
// fail, so the end of the process is a failure of the test. A case returns all that it saw as a text. The text is the
// same before and after each failure. A write that only wants memory, and can go on without, does so.
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "mergedb/db.h"
#include "mergedb/merge.h"
#include "mergedb/transaction.h"
#include "testing/apart.h"
#include "testing/failing_allocation.h"
#include "testing/simulated_env.h"
#include "testing/status_matchers.h"
#include "testing/temp_directory.h"

namespace mergedb::testing {
namespace {

constexpr int kKeys = 600;

std::string Key(int i) { return "key" + std::to_string(1000 + i); }
std::string Value(int i, int version) { return std::to_string(version) + ":" + Key(i) + std::string(400, 'v'); }

Options SmallOptions() {
  Options options;
  options.memory_bytes = size_t{8} << 20;
  options.write_buffer_bytes = size_t{1} << 20;
  options.block_bytes = 1024;
  options.blob_value_bytes_min = 200;
  return options;
}

void Expect(const Status& status) {
  if (!status.ok()) throw std::runtime_error(status.ToString());
}

void CountOne(DB& db) { Expect(db.Merge({}, "counter", merge::AddU64(1))); }

// Two generations of tables, blob files, range tombstones, merge operands and a keyspace.
void Fill(DB& db) {
  for (int i = 0; i < kKeys; ++i) Expect(db.Put({}, Key(i), Value(i, 1)));
  CountOne(db);
  Expect(db.Flush());
  for (int i = 0; i < kKeys; i += 7) Expect(db.Put({}, Key(i), "small"));
  Expect(db.DeleteRange({}, Key(100), Key(110)));
  CountOne(db);
  Expect(db.Flush());
  auto named = db.CreateKeyspace("named");
  if (!named) throw std::runtime_error(named.error().ToString());
  for (int i = 0; i < 20; ++i) Expect(db.Put({}, *named, Key(i), Value(i, 2)));
}

// What only memtables hold.
void FillMemtable(DB& db) {
  for (int i = 0; i < kKeys; i += 11) Expect(db.Put({}, Key(i), Value(i, 3)));
  Expect(db.DeleteRange({}, Key(200), Key(205)));
  CountOne(db);
}

// Returns all that it saw. Throws std::bad_alloc; another exception is a failure.
using Act = std::function<std::string()>;

std::string Seen(const Status& status, std::string_view value) {
  if (!status.ok() && !status.IsNotFound()) throw std::runtime_error(status.ToString());
  return status.ok() ? std::string(value) + ";" : "-;";
}

std::string FailEach(const Act& act) {
  const std::string expected = act();
  for (int64_t n = 1;; ++n) {
    std::string seen = expected;
    try {
      FailAllocation(n);
      seen = act();
    } catch (const std::bad_alloc&) {}
    const bool has_failed = StopFailing();
    if (seen != expected) return "wrong answer beside failed allocation " + std::to_string(n);
    if (act() != expected) return "wrong answer after failed allocation " + std::to_string(n);
    if (!has_failed) return n > 1 ? "" : "no allocation";
  }
}

std::string Forward(Iterator& it) {
  std::string seen;
  for (it.SeekToFirst(); it.Valid(); it.Next()) seen += std::string(it.key()) + Seen(it.status(), it.value());
  return seen + Seen(it.status(), "");
}

std::string Backward(Iterator& it) {
  std::string seen;
  for (it.SeekToLast(); it.Valid(); it.Prev()) seen += std::string(it.key()) + Seen(it.status(), it.value());
  return seen + Seen(it.status(), "");
}

std::string Seeks(Iterator& it) {
  std::string seen;
  const auto note = [&] { seen += it.Valid() ? std::string(it.key()) + Seen(it.status(), it.value()) : "end;"; };
  for (int i = -1; i < kKeys; i += 97) {
    it.Seek(Key(i) + "+");
    note();
    if (it.Valid()) it.Next();
    note();
    it.SeekForPrev(Key(i + 5));
    note();
    if (it.Valid()) it.Prev();
    note();
    if (it.Valid()) it.Next();
    note();
  }
  return seen;
}

template <typename Reader>
std::string Gets(const Reader& get) {
  std::string seen, value;
  for (int i = 0; i < kKeys + 20; i += 13) {
    const Status status = get(Key(i), &value);
    seen += Seen(status, value);
  }
  const Status status = get("counter", &value);
  return seen + Seen(status, value);
}

std::string Moves(Cursor& cursor) {
  std::string seen;
  const auto note = [&](const Status& status) { seen += Seen(status, status.ok() ? cursor.key() : ""); };
  note(cursor.First());
  for (int i = 0; i < 40; ++i) note(cursor.Next());
  note(cursor.Last());
  for (int i = 0; i < 40; ++i) note(cursor.Prev());
  note(cursor.Set(Key(50)));
  note(cursor.SetRange(Key(104)));
  note(cursor.Next());
  note(cursor.SetForPrev(Key(203)));
  note(cursor.Prev());
  return seen;
}

// Writes that a transaction undoes. The text has what it reads in between.
std::string WriteAndRead(Transaction& transaction) {
  const auto get = [&](const std::string& key, std::string* value) { return transaction.Get(key, value); };
  Expect(transaction.SetSavepoint());
  Expect(transaction.Put(Key(3), "mine"));
  Expect(transaction.Put(Key(3) + "new", Value(3, 4)));
  std::string seen = Gets(get);
  Expect(transaction.Delete(Key(13)));
  Expect(transaction.DeleteRange(Key(20), Key(60)));
  Expect(transaction.Merge("counter", merge::AddU64(5)));
  char* reserved = nullptr;
  Expect(transaction.Reserve({}, Key(4) + "reserved", 300, &reserved));
  seen += Gets(get);
  const auto cursor = transaction.OpenCursor();
  seen += Moves(*cursor);
  return seen;
}

std::unique_ptr<Transaction> Begin(DB& db, TransactionKind kind) {
  auto begun = Transaction::Begin(db, {.kind = kind, .name = "a transaction with a long name"});
  if (!begun) throw std::runtime_error(begun.error().ToString());
  return std::move(*begun);
}

void RollBackAll(Transaction& transaction) {
  while (transaction.savepoints() > 0) Expect(transaction.RollbackToSavepoint());
}

// The same transaction goes on after the failure.
std::string WriteAndReadAgain(Transaction& transaction) {
  try {
    return WriteAndRead(transaction);
  } catch (const std::bad_alloc&) {
    RollBackAll(transaction);
    return WriteAndRead(transaction);
  }
}

struct Case {
  std::string name;
  std::function<Act(DB&)> make;  // the Act may keep state from call to call
  std::function<void(Options&)> set = {};
};

Act GetsOf(DB& db) {
  return [&db] {
    return Gets(
        [&db](const std::string& key, std::string* value) { return db.Get({.fill_cache = false}, key, value); });
  };
}
template <typename Use>
Act OneIterator(DB& db, Use use) {
  std::shared_ptr<Iterator> it = db.NewIterator();
  return [it, use] { return use(*it); };
}
// The same transaction goes on from call to call.
Act OneTransaction(DB& db, TransactionKind kind) {
  std::shared_ptr<Transaction> transaction = Begin(db, kind);
  return [transaction] {
    RollBackAll(*transaction);
    return WriteAndRead(*transaction);
  };
}
// The same iterator goes on after the failure.
template <typename Use>
Act FreshIterator(DB& db, Use use, const IteratorOptions& options = {}) {
  return [&db, use, options] {
    const auto it = db.NewIterator(options);
    try {
      return use(*it);
    } catch (const std::bad_alloc&) { return use(*it); }
  };
}

std::vector<Case> Cases() {
  const auto mapped = [](Options& options) { options.mapped_read_bytes_max = uint64_t{1} << 30; };
  const auto slow = [](Options& options) {
    options.slow_call_us = 1;
    options.log_bytes_max = 1 << 20;
  };
  // WHY: a compaction beside the case would change sizes.
  const auto read_only = [](Options& options) { options.mode = OpenMode::kReadOnly; };
  return {
      {"Get", GetsOf},
      {"GetMapped", GetsOf, mapped},
      {"GetSlow", GetsOf, slow},
      {"MultiGet",
       [](DB& db) -> Act {
         return [&db] {
           std::vector<std::string> keys = {"counter", "absent"}, values;
           for (int i = 0; i < kKeys; i += 13) keys.push_back(Key(i));
           const std::vector<std::string_view> views(keys.begin(), keys.end());
           const std::vector<Status> statuses = db.MultiGet({.fill_cache = false}, views, &values);
           std::string seen;
           for (size_t i = 0; i < keys.size(); ++i) seen += Seen(statuses[i], values[i]);
           return seen;
         };
       }},
      {"Forward", [](DB& db) { return OneIterator(db, Forward); }},
      {"Backward", [](DB& db) { return OneIterator(db, Backward); }},
      {"Seeks", [](DB& db) { return OneIterator(db, Seeks); }},
      {"SeeksMapped", [](DB& db) { return OneIterator(db, Seeks); }, mapped},
      {"SeeksSlow", [](DB& db) { return OneIterator(db, Seeks); }, slow},
      {"NewForward", [](DB& db) { return FreshIterator(db, Forward); }},
      {"NewBackward", [](DB& db) { return FreshIterator(db, Backward); }},
      {"Bounded",
       [](DB& db) { return FreshIterator(db, Backward, {.lower = Key(90), .upper = Key(300), .keys_only = true}); }},
      {"Prefix", [](DB& db) { return FreshIterator(db, Forward, {.prefix = "key11"}); }},
      {"Snapshot",
       [](DB& db) -> Act {
         return [&db] {
           const auto snapshot = db.GetSnapshot();
           return Gets([&](const std::string& key, std::string* value) {
             return db.Get({.snapshot = snapshot.get()}, key, value);
           });
         };
       }},
      {"Properties",
       [](DB& db) -> Act {
         return [&db] {
           std::string text;
           for (const char* name : {"stats", "runs", "merge_operators", "recovery", "errors", "snapshots",
                                    "transactions", "counters", "stats.json", "prometheus"}) {
             if (!db.GetProperty(std::string("mergedb.") + name, &text)) throw std::runtime_error(name);
           }
           return std::string("read");
         };
       }},
      {"Metrics",
       [](DB& db) -> Act { return [&db] { return std::string(db.Metrics() && db.Histograms() ? "read" : "error"); }; }},
      {"Sizes",
       [](DB& db) -> Act {
         return [&db] {
           const std::string lower = Key(50), upper = Key(400);
           return std::to_string(db.ApproximateSizes({{.lower = lower, .upper = upper}})[0]);
         };
       },
       read_only},
      {"Integrity", [](DB& db) -> Act { return [&db] { return Seen(db.CheckIntegrity(), "intact"); }; }},
      {"Keyspaces",
       [](DB& db) -> Act {
         return [&db] {
           const auto named = db.OpenKeyspace("named");
           if (!named) throw std::runtime_error(named.error().ToString());
           const auto all = db.ListKeyspaces();
           std::string seen = std::to_string(all ? all->size() : 0), value;
           for (int i = 0; i < 20; ++i) {
             const Status status = db.Get({}, *named, Key(i), &value);
             seen += Seen(status, value);
           }
           const auto it = db.NewIterator({.keyspace = *named});
           return seen + Forward(*it) + Backward(*it);
         };
       }},
      {"ReadTransaction",
       [](DB& db) -> Act {
         return [&db] {
           const auto transaction = Begin(db, TransactionKind::kReadOnly);
           const auto cursor = transaction->OpenCursor();
           return Moves(*cursor) +
                  Gets([&](const std::string& key, std::string* value) { return transaction->Get(key, value); });
         };
       }},
      {"WriteTransaction",
       [](DB& db) -> Act { return [&db] { return WriteAndReadAgain(*Begin(db, TransactionKind::kSingleWriter)); }; }},
      {"OptimisticTransaction",
       [](DB& db) -> Act { return [&db] { return WriteAndReadAgain(*Begin(db, TransactionKind::kOptimistic)); }; }},
      {"OneWriteTransaction", [](DB& db) { return OneTransaction(db, TransactionKind::kSingleWriter); }},
      {"OneOptimisticTransaction", [](DB& db) { return OneTransaction(db, TransactionKind::kOptimistic); }},
  };
}

std::string RunCase(const Case& each, const std::string& path) {
  Options options = SmallOptions();
  if (each.set) each.set(options);
  auto db = DB::Open(options, path);
  if (!db) return db.error().ToString();
  try {
    if (options.mode != OpenMode::kReadOnly) FillMemtable(**db);
    const std::string wrong = FailEach(each.make(**db));
    return wrong.empty() ? "right" : wrong;
  } catch (const std::exception& exception) { return exception.what(); }
}

TEST(ReadsOutOfMemory, ThrowAndLeaveTheDatabaseAsItWas) {
  const TempDirectory directory;
  const Outcome filled = RunApart(
      [&] {
        auto db = DB::Open(SmallOptions(), directory / "filled");
        if (!db) return db.error().ToString();
        Fill(**db);
        return (*db)->Close().ToString();
      },
      {});
  ASSERT_EQ(filled.answer, "OK") << filled.trouble;
  for (const Case& each : Cases()) {
    SCOPED_TRACE(each.name);
    std::filesystem::copy(directory / "filled", directory / each.name);
    const Outcome outcome = RunApart([&] { return RunCase(each, directory / each.name); }, {.seconds = 60});
    EXPECT_EQ(outcome.answer, "right") << outcome.trouble;
    std::filesystem::remove_all(directory / each.name);
  }
}

// A tombstone-heavy scan asks for a flush of its memtable, for which the next write takes a new memtable. Without
// memory for one, the write that finds room in the old one goes on with it.
TEST(WritesOutOfMemory, ASwitchOfTheMemtableThatIsOnlyWantedRefusesNoWrite) {
  constexpr int kDeletes = 2'000;  // more than iterator/tombstone_scan.h requires
  SimulatedEnv sim;                // background work waits
  Options options = sim.SmallOptions();
  options.memory_bytes = size_t{8} << 20;
  options.write_buffer_bytes = size_t{1} << 20;
  ASSERT_OK_AND_ASSIGN(const auto db, DB::Open(options, SimulatedEnv::kPath));
  ASSERT_OK(db->Put({}, Key(0), std::string(300'000, 'v')));  // half a memtable is worth the flush
  for (int i = 1; i < kDeletes; ++i) ASSERT_OK(db->Delete({}, Key(i)));
  const auto it = db->NewIterator();
  for (it->SeekToFirst(); it->Valid(); it->Next()) {}
  const std::string last = Key(kDeletes);
  FailAllocation(1);
  const Status status = db->Put({}, last, "v");
  EXPECT_TRUE(StopFailing()) << "the write wants no new memtable";
  EXPECT_OK(status);
  std::string value;
  EXPECT_OK(db->Get({}, last, &value));
}

}  // namespace
}  // namespace mergedb::testing
