#include "bench/transaction_workloads.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>

#include "base/bytes.h"
#include "base/coding.h"
#include "bench/keys.h"
#include "bench/workloads.h"

namespace mergedb::bench {
namespace {

// The 8 bytes of a counter, padded with zero bytes or cut to --key_size.
class CounterKey {
 public:
  CounterKey(const Flags& flags, bool is_sequential)
      : bytes_(static_cast<size_t>(flags.key_size), '\0'), is_sequential_(is_sequential) {}

  std::string_view Set(uint64_t number) {
    const size_t count = std::min<size_t>(bytes_.size(), 8);
    char word[8];  // WHY one store: as in KeyMaker
    base::StoreFixed64(word, is_sequential_ ? __builtin_bswap64(number << 8 * (8 - count)) : number);
    std::memcpy(bytes_.data(), word, count);
    return bytes_;
  }

 private:
  std::string bytes_;
  const bool is_sequential_;
};

// Returns the bytes of the key and the value.
int64_t WriteOne(Writer& writer, CounterKey& key, ValueSource& values, uint64_t number, size_t value_bytes) {
  const std::string_view bytes = key.Set(number);
  writer.Put(bytes, values.Next(value_bytes));
  return static_cast<int64_t>(bytes.size() + value_bytes);
}

// Overwrites existing keys in transactions until the other threads have finished.
void WriteBesideReaders(Task& task) {
  const Workload& work = task.workload;
  const auto writer = task.engine->NewTransactionWriter(work.durability, false);
  CounterKey key(task.flags, false);
  ValueSource values(task.value_bytes);
  ValueSizes sizes = SizesOf(task);
  LehmerRandom random(task.seed);
  int64_t written = 0;
  const uint64_t start = NowNanos();
  while (task.others_left.load() > 0) {
    for (int64_t i = 0; i < work.batch_ops; ++i, ++written) {
      WriteOne(*writer, key, values, random.Uniform(task.flags.num), sizes.Next());
    }
    writer->Commit();
  }
  const double seconds = static_cast<double>(NowNanos() - start) * 1e-9;
  task.stats.AddMessage("(" + std::to_string(static_cast<int64_t>(static_cast<double>(written) / seconds)) +
                        " writes/s beside)");
}

void CheckCall(bool is_ok, const char* act) {
  if (!is_ok) Die("appendsync", act, std::strerror(errno));
}

}  // namespace

void FillTransactions(Task& task) {
  const Workload& work = task.workload;
  const auto writer = task.engine->NewTransactionWriter(work.durability, work.is_sequential);
  CounterKey key(task.flags, work.is_sequential);
  ValueSource values(task.value_bytes);
  ValueSizes sizes = SizesOf(task);
  int64_t bytes = 0;
  for (int64_t i = 0; i < work.num; i += work.batch_ops) {
    const int64_t count = std::min(work.batch_ops, work.num - i);
    for (int64_t j = 0; j < count; ++j) {
      bytes += WriteOne(*writer, key, values, static_cast<uint64_t>(i + j), sizes.Next());
    }
    writer->Commit();
    task.stats.FinishedOps(count);
  }
  task.stats.AddBytes(bytes);
  task.stats.AddUserBytes(bytes);
}

void ReadTransactions(Task& task) {
  const auto reader = task.engine->NewReader();
  CounterKey key(task.flags, false);
  LehmerRandom random(task.seed);
  std::string value;
  int64_t found = 0;
  for (int64_t i = 0; i < task.workload.reads; ++i) {
    found += reader->Get(key.Set(random.Uniform(task.flags.num)), &value);
    task.stats.FinishedOps(1);
  }
  task.stats.AddFound(found);
  task.stats.AddMessage("(" + std::to_string(found) + " of " + std::to_string(task.workload.reads) + " found)");
}

void ReadTransactionsWhileWriting(Task& task) { task.index == 0 ? WriteBesideReaders(task) : ReadTransactions(task); }

void AppendAndSync(Task& task) {
  const Workload& work = task.workload;
  const std::string folder = task.flags.db.empty() ? std::filesystem::temp_directory_path().string()
                                                   : std::filesystem::path(task.flags.db).parent_path().string();
  std::string path = folder + "/appendsync-XXXXXX";
  const int file = mkstemp(path.data());
  CheckCall(file >= 0, "create");
  CheckCall(unlink(path.c_str()) == 0, "unlink");
  const std::string bytes(static_cast<size_t>(work.batch_ops * (task.flags.key_size + work.value_bytes)), 'x');
  for (int64_t i = 0; i < work.num; i += work.batch_ops) {
    CheckCall(write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()), "write");
    CheckCall(work.durability != Durability::kSynced || fdatasync(file) == 0, "sync");
    task.stats.FinishedOps(std::min(work.batch_ops, work.num - i));
    task.stats.AddBytes(static_cast<int64_t>(bytes.size()));
  }
  CheckCall(close(file) == 0, "close");
}

}  // namespace mergedb::bench
