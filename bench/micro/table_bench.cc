// The cost of a table: CPU nanoseconds for each entry to write, scan, iterate and get, and for each table cache
// lookup.
//
//     table_bench [directory [entries [value bytes [codec 0..3]]]]
//
// Each figure is the minimum of five runs. Keys are 16 decimal digits, as in db_bench; values are random bytes.
#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "base/block_cache.h"
#include "base/hash.h"
#include "base/random.h"
#include "format/file_name.h"
#include "mergedb/env.h"
#include "table/cache.h"
#include "table/reader.h"
#include "table/writer.h"

namespace {

using namespace mergedb;

constexpr int kRuns = 5;

uint64_t CpuNanos() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

void Require(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::exit(1);
}

void Measure(const char* name, size_t count, const std::function<void()>& work) {
  uint64_t best = ~uint64_t{0};
  for (int run = 0; run < kRuns; ++run) {
    const uint64_t start = CpuNanos();
    work();
    best = std::min(best, CpuNanos() - start);
  }
  std::printf("%-34s %8.1f ns\n", name, static_cast<double>(best) / static_cast<double>(count));
}

struct Rows {
  std::string bytes;
  std::vector<kv::Entry> entries;
};

Rows MakeRows(size_t count, size_t value_bytes) {
  base::Random random(301);
  Rows rows;
  rows.bytes.resize(count * (16 + value_bytes) + 1);
  std::vector<uint64_t> keys(count);
  for (uint64_t& key : keys) key = random.Uniform(10'000'000'000'000'000u);
  std::sort(keys.begin(), keys.end());
  char* at = rows.bytes.data();
  for (size_t i = 0; i < count; ++i) {
    std::snprintf(at, 17, "%016" PRIu64, keys[i]);
    for (size_t j = 0; j < value_bytes; ++j) at[16 + j] = static_cast<char>(random.Next());
    const std::string_view key(at, 16);
    rows.entries.push_back({.prefix = base::Prefix8(key),
                            .key = key,
                            .tag = kv::MakeTag(1 + random.Uniform(count), kv::Kind::kPut),
                            .value = {at + 16, value_bytes}});
    at += 16 + value_bytes;
  }
  return rows;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string directory = argc > 1 ? argv[1] : "/tmp/table_bench";
  const size_t count = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 500'000;
  const size_t value_bytes = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 100;
  const auto codec = static_cast<Compression>(argc > 4 ? std::atoi(argv[4]) : 0);
  mkdir(directory.c_str(), 0700);
  FileSystem* const file_system = DefaultEnv().file_system;
  const kv::Order order(BytewiseComparator());
  const Rows rows = MakeRows(count, value_bytes);

  format::FileMetaPtr meta;
  const auto write = [&](int bloom_bits) {
    const std::string path = format::TablePath(directory, kv::FileNumber{7});
    (void)file_system->Remove(path);
    auto writer = table::Writer::Create(
        file_system, path, kv::FileNumber{7}, 42, order,
        {.compression = codec, .bloom_bits_per_key = bloom_bits, .bytes_expected = rows.bytes.size()});
    Require(writer.status());
    for (const kv::Entry& entry : rows.entries) Require((*writer)->Add(entry));
    auto finished = (*writer)->Finish();
    Require(finished.status());
    meta = *finished;
  };
  Measure("write, no filter", count, [&] { write(0); });
  Measure("write, filter of 10 bits", count, [&] { write(10); });
  std::printf("%-34s %8.1f bytes an entry\n", "file", static_cast<double>(meta->bytes) / static_cast<double>(count));

  base::BlockCache blocks(meta->bytes * 2 + (64 << 20));
  const auto tables = table::Cache::New(file_system, directory, order, &blocks, 100);
  auto reader = tables->Open(meta);
  Require(reader.status());
  std::printf("%-34s %8.2f bytes an entry\n", "index and filter in memory",
              static_cast<double>((*reader)->memory_bytes()) / static_cast<double>(count));

  uint64_t sum = 0;
  const auto walk = [&](kv::ForwardIterator* iterator) {
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
      sum += iterator->entry().prefix + iterator->entry().tag + iterator->entry().value.size();
    }
    Require(iterator->status());
  };
  Measure("scan (compaction input)", count, [&] { walk((*reader)->NewScanIterator().get()); });
  Measure("iterate, page cache only", count, [&] { walk((*reader)->NewIterator({.fill_cache = false}).get()); });
  // Random keys, stored contiguously, so that the measurement does not include fetching them.
  const size_t gets = 200'000;
  std::string asked;
  base::Random random(7);
  for (size_t i = 0; i < gets; ++i) asked += rows.entries[random.Uniform(count)].key;
  const auto key_at = [&](size_t i) { return std::string_view(asked).substr(i * 16, 16); };
  const auto get = [&](const table::ReadControl& control, size_t number) {
    for (size_t i = 0; i < number; ++i) {
      table::Found found;
      Require((*reader)->Get(key_at(i), kv::kSequenceMax, control, &found));
      sum += static_cast<uint8_t>(found.value.empty() ? 0 : found.value[0]);
    }
  };
  Measure("get, page cache only", gets / 4, [&] { get({.fill_cache = false}, gets / 4); });
  // Reads every block into the cache.
  for (const kv::Entry& entry : rows.entries) {
    table::Found found;
    Require((*reader)->Get(entry.key, kv::kSequenceMax, {}, &found));
  }
  Measure("get, block cache", gets, [&] { get({}, gets); });
  Measure("iterate, block cache", count, [&] { walk((*reader)->NewIterator({}).get()); });
  Measure("iterate backwards, block cache", count, [&] {
    const auto iterator = (*reader)->NewIterator({});
    for (iterator->SeekToLast(); iterator->Valid(); iterator->Prev()) sum += iterator->entry().tag;
  });
  Measure("seek, block cache", gets, [&] {
    const auto iterator = (*reader)->NewIterator({});
    for (size_t i = 0; i < gets; ++i) {
      iterator->Seek(key_at(i), kv::kTagMax);
      sum += iterator->entry().tag;
    }
  });
  Measure("filter probe, absent", gets, [&] {
    for (size_t i = 0; i < gets; ++i) sum += (*reader)->MayContain(random.Next());
  });
  Measure("table cache lookup", gets, [&] {
    for (size_t i = 0; i < gets; ++i) sum += (*tables->Open(meta))->memory_bytes();
  });
  size_t passed = 0;
  for (size_t i = 0; i < gets; ++i) passed += (*reader)->MayContain(random.Next());
  std::printf("%-34s %8.2f %%   (%" PRIu64 ")\n", "absent keys that pass the filter",
              100.0 * static_cast<double>(passed) / static_cast<double>(gets), sum & 1);
  return 0;
}
