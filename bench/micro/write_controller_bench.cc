// CPU cost of a put and its flush, and of one compaction step for each entry: CPU of the whole process on an
// idle machine. Prints one line for each figure.
//
//     write_controller_bench [value bytes = 100] [entries = 2000000] [directory]
//
// Method: the write buffers are so large that the few flushed runs need no compaction. Load, then Flush: CPU /
// entries is the cost of put + flush. Then CompactRange compacts all sorted runs in one step: CPU / entries is
// the cost of the step.
#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/random.h"
#include "mergedb/db.h"

namespace {

double CpuNanos() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto nanos = [](const timeval& time) {
    return 1e9 * static_cast<double>(time.tv_sec) + 1e3 * static_cast<double>(time.tv_usec);
  };
  return nanos(usage.ru_utime) + nanos(usage.ru_stime);
}

void Check(const mergedb::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::exit(1);
}

uint64_t Counter(mergedb::DB& db, const char* name) {
  std::string value;
  if (!db.GetProperty(std::string("mergedb.") + name, &value)) std::exit(2);
  return std::strtoull(value.c_str(), nullptr, 10);
}

// "%016llu" without printf, which would cost as much as a put.
void PrintKey(uint64_t number, char* key) {
  for (int i = 15; i >= 0; --i, number /= 10) key[i] = static_cast<char>('0' + number % 10);
}

}  // namespace

int main(int argc, char** argv) {
  const size_t value_bytes = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 100;
  const uint64_t entries = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 2'000'000;
  const std::string path = argc > 3 ? argv[3] : "/tmp/mergedb-write-controller-bench";
  mergedb::Options options;
  options.write_buffer_bytes = size_t{64} << 20;
  options.memory_bytes = size_t{256} << 20;
  options.compression = {mergedb::Compression::kNone, mergedb::Compression::kNone};
  (void)mergedb::DB::Destroy(options, path);
  auto db = mergedb::DB::Open(options, path);
  Check(db.status());

  mergedb::base::Random random(301);
  std::string values(1 << 20, 0);
  for (char& byte : values) byte = static_cast<char>(random.Next());
  const auto put_all = [&] {
    char key[16];
    for (uint64_t i = 0; i < entries; ++i) {
      PrintKey(random.Uniform(entries), key);
      const size_t at = i * 64 % (values.size() - std::min(values.size() / 2, value_bytes));
      Check((*db)->Put({}, {key, sizeof key}, std::string_view(values).substr(at, value_bytes)));
    }
  };
  // The first round touches every page for the first time. The figures are those of the second round.
  put_all();
  Check((*db)->Flush());
  Check((*db)->CompactRange(nullptr, nullptr));
  const uint64_t merges = Counter(**db, "compactions");
  double start = CpuNanos();
  put_all();
  const double put = CpuNanos() - start;
  Check((*db)->Flush());
  const double flushed = CpuNanos() - start;
  std::printf("put                  %7.1f ns\n", put / static_cast<double>(entries));
  std::printf("put + flush          %7.1f ns\n", flushed / static_cast<double>(entries));
  if (Counter(**db, "compactions") != merges)
    std::printf("note: %llu compactions ran during the measurement\n",
                static_cast<unsigned long long>(Counter(**db, "compactions") - merges));

  const uint64_t merged = Counter(**db, "compaction_entries_in");
  start = CpuNanos();
  Check((*db)->CompactRange(nullptr, nullptr));
  std::printf("merge, entry and step %6.1f ns\n",
              (CpuNanos() - start) / static_cast<double>(Counter(**db, "compaction_entries_in") - merged));
  Check((*db)->Close());
  Check(mergedb::DB::Destroy(options, path));
}
