// CPU cost of the memtable and of the iterators over it, in nanoseconds: the minimum of several runs. Keys are
// db_bench's (16 ASCII digits with the same first 8 bytes) or 16 random bytes; values have 100 bytes.
//
// Built by hand, with the sources of the engine:
//   g++ -std=c++20 -O3 -Isrc -Iinclude bench/micro/memtable_bench.cc src/{base,kv,iterator,memtable}/*.cc -lpthread
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"
#include "iterator/compaction_iterator.h"
#include "iterator/merging_iterator.h"
#include "iterator/user_iterator.h"
#include "memtable/memtable.h"

namespace {

using namespace mergedb;  // NOLINT: a program of one file

constexpr size_t kMemoryBytes = size_t{16} << 20;
constexpr int kRuns = 7;
const std::string kValue(100, 'v');
const kv::Order kOrder(BytewiseComparator());
uint64_t sink = 0;

double CpuNanos() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

double LeastNanos(const std::function<double()>& run) {
  double least = 1e300;
  for (int i = 0; i < kRuns; ++i) least = std::min(least, run());
  return least;
}

void Report(const char* what, double nanos) { std::printf("  %-44s %8.1f ns\n", what, nanos); }

std::string DigitKey(uint64_t number) {
  char key[17];
  std::snprintf(key, sizeof key, "%016llu", static_cast<unsigned long long>(number));
  return key;
}

std::vector<std::string> MakeKeys(bool digits, size_t count, uint64_t seed) {
  base::Random random(seed);
  std::vector<std::string> keys;
  for (size_t i = 0; i < count; ++i) {
    if (digits) {
      keys.push_back(DigitKey(random.Uniform(20'000'000)));
    } else {
      std::string key(16, 0);
      for (char& c : key) c = static_cast<char>(random.Next());
      keys.push_back(key);
    }
  }
  return keys;
}

void Fill(memtable::Memtable& table, const std::vector<std::string>& keys, size_t begin, size_t end) {
  for (size_t i = begin; i < end; ++i) table.Add(keys[i], kv::MakeTag(i + 1, kv::Kind::kPut), kValue);
}

double Walk(kv::ForwardIterator& iterator, size_t count) {
  const double begin = CpuNanos();
  iterator.SeekToFirst();
  for (; iterator.Valid(); iterator.Next()) {
    sink += iterator.entry().prefix + static_cast<uint8_t>(iterator.entry().value[7]);
  }
  return (CpuNanos() - begin) / static_cast<double>(count);
}

void MeasureMemtable(const char* name, const std::vector<std::string>& keys, const std::vector<std::string>& absent) {
  std::printf("%s\n", name);
  const auto memory = memtable::NewMemory(kMemoryBytes);
  const size_t count = 100'000;
  Report("add", LeastNanos([&] {
           memtable::Memtable table(kOrder, memory);
           const double begin = CpuNanos();
           Fill(table, keys, 0, count);
           return (CpuNanos() - begin) / count;
         }));
  memtable::Memtable table(kOrder, memory);
  Fill(table, keys, 0, count);
  base::Random random(7);
  std::vector<const std::string*> asked;
  for (size_t i = 0; i < count; ++i) asked.push_back(&keys[random.Uniform(count)]);
  memtable::Memtable::Found found;
  Report("get, hit", LeastNanos([&] {
           const double begin = CpuNanos();
           for (const std::string* key : asked) sink += table.Get(*key, kv::kSequenceMax, &found);
           return (CpuNanos() - begin) / count;
         }));
  Report("get, miss", LeastNanos([&] {
           const double begin = CpuNanos();
           for (size_t i = 0; i < count; ++i) sink += table.Get(absent[i], kv::kSequenceMax, &found);
           return (CpuNanos() - begin) / count;
         }));
  double least_sort = 1e300, least_walk = 1e300;
  for (int run = 0; run < kRuns; ++run) {
    memtable::Memtable again(kOrder, memory);
    Fill(again, keys, 0, count);
    const double begin = CpuNanos();
    const auto iterator = again.NewFlushIterator();
    least_sort = std::min(least_sort, (CpuNanos() - begin) / count);
    least_walk = std::min(least_walk, Walk(*iterator, count));
  }
  Report("flush: sort, an entry", least_sort);
  Report("flush: iterate, an entry", least_walk);

  double total = 0, worst = 0;
  double walk = 0;
  const int opens = 2000;
  memtable::Memtable active(kOrder, memory);
  for (int i = 0; i < opens; ++i) {
    Fill(active, keys, count / opens * i, count / opens * (i + 1));
    const double begin = CpuNanos();
    const auto iterator = active.NewIterator();
    iterator->Seek(keys[i], kv::kTagMax);
    const double nanos = CpuNanos() - begin;
    total += nanos;
    worst = std::max(worst, nanos);
    sink += iterator->Valid();
    if (i == opens - 1) walk = Walk(*iterator, count);
  }
  Report("open + seek, 50 adds between", total / opens);
  Report("open + seek, maximum of 2000", worst);
  Report("iterate an active memtable, an entry", walk);
}

void MeasureOpenWhileWriting(const std::vector<std::string>& keys) {
  memtable::Memtable table(kOrder, memtable::NewMemory(kMemoryBytes));
  std::atomic<bool> is_done = false;
  std::thread writer([&] {
    Fill(table, keys, 0, 100'000);
    is_done = true;
  });
  std::vector<double> opens;
  while (!is_done) {
    const double begin = CpuNanos();
    const auto iterator = table.NewIterator();
    opens.push_back(CpuNanos() - begin);
  }
  writer.join();
  std::sort(opens.begin(), opens.end());
  std::printf("open while another thread adds 100,000: %zu opens\n", opens.size());
  Report("median", opens[opens.size() / 2]);
  Report("worst", opens.back());
}

// Keys of 16 bytes, stored contiguously: a child iterator of minimal cost.
class ArrayIterator final : public kv::Iterator {
 public:
  explicit ArrayIterator(const std::string* keys) : keys_(keys) {}
  void SeekToFirst() override { Show(0); }
  void SeekToLast() override { Show(keys_->size() / 16 - 1); }
  void Seek(std::string_view key, kv::Tag) override {
    for (SeekToFirst(); Valid() && entry_.key < key;) Next();
  }
  void Next() override { Show(index_ + 1); }
  void Prev() override { Show(index_ - 1); }

 private:
  void Show(size_t index) {
    index_ = index;
    valid_ = index < keys_->size() / 16;
    if (!valid_) return;
    const std::string_view key(keys_->data() + 16 * index, 16);
    entry_ = {.prefix = base::Prefix8(key), .key = key, .tag = 257 + index * 256, .value = kValue};
  }
  const std::string* keys_;
  size_t index_ = 0;
};

void MeasureStreams(const char* name, std::vector<std::string> keys) {
  std::printf("%s\n", name);
  std::sort(keys.begin(), keys.end());
  base::Random random(5);
  for (const size_t width : {1, 2, 8, 16, 32}) {
    std::vector<std::string> lists(width);
    for (size_t i = 0; i < keys.size(); ++i) lists[random.Uniform(width)] += keys[i];
    const auto merged = [&] {
      std::vector<std::unique_ptr<kv::Iterator>> children;
      for (const auto& list : lists) children.push_back(std::make_unique<ArrayIterator>(&list));
      return iterator::NewMergingIterator(kOrder, std::move(children));
    };
    Report(("merging, K=" + std::to_string(width)).c_str(), LeastNanos([&] { return Walk(*merged(), keys.size()); }));
    Report("  backward", LeastNanos([&] {
             const auto iterator = merged();
             const double begin = CpuNanos();
             for (iterator->SeekToLast(); iterator->Valid(); iterator->Prev()) sink += iterator->entry().prefix;
             return (CpuNanos() - begin) / static_cast<double>(keys.size());
           }));
    if (width > 1) continue;
    Report("  user iterator over it",
           LeastNanos([&] { return Walk(*iterator::NewUserIterator(kOrder, {}, merged()), keys.size()); }));
    Report("  compaction iterator over it", LeastNanos([&] {
             iterator::CompactionIteratorCounts counts;
             const auto collapsing =
                 iterator::NewCompactionIterator(kOrder, {.is_bottommost = true}, merged(), &counts);
             return Walk(*collapsing, keys.size());
           }));
  }
}

}  // namespace

int main() {
  MeasureMemtable("16 ASCII digits", MakeKeys(true, 100'000, 1), MakeKeys(true, 100'000, 2));
  MeasureMemtable("16 random bytes", MakeKeys(false, 100'000, 1), MakeKeys(false, 100'000, 2));
  MeasureOpenWhileWriting(MakeKeys(true, 100'000, 1));
  MeasureStreams("iterators, 16 ASCII digits", MakeKeys(true, 200'000, 3));
  MeasureStreams("iterators, 16 random bytes", MakeKeys(false, 200'000, 3));
  return sink == 42;
}
