// db_bench: LevelDB's benchmark program, with LevelDB's flags and lines, for several engines.
//
//     db_bench --benchmarks=fillrandom,waitforcompaction,readrandom --num=1000000 --engine=leveldb --json=out.json
#include <cstdio>
#include <ctime>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "bench/flags.h"
#include "bench/json.h"
#include "bench/measure.h"
#include "bench/runner.h"
#include "bench/workloads.h"

namespace mergedb::bench {
namespace {

std::string ValueSizesText(const Flags& flags) {
  if (flags.value_size_distribution == "fixed") return std::to_string(flags.value_size) + " bytes each";
  return std::to_string(flags.value_size_min) + " to " + std::to_string(flags.value_size_max) + " bytes, " +
         flags.value_size_distribution;
}

// Facts about the machine go to stderr and results to stdout, as in LevelDB.
void PrintHeader(const Flags& flags) {
  const int key_bytes = flags.key_size + flags.key_prefix;
  const double value_bytes = MeanValueBytes(flags);
  const double compressed = value_bytes * flags.compression_ratio;
  const double raw_mb = (key_bytes + value_bytes) * static_cast<double>(flags.num) / 1048576.0;
  const double file_mb = (key_bytes + compressed) * static_cast<double>(flags.num) / 1048576.0;
  const std::time_t now = std::time(nullptr);
  std::fprintf(stderr, "Engine:     %s\nDate:       %sCPU:        %s\nKernel:     %s\n", flags.engine.c_str(),
               std::ctime(&now), CpuModel().c_str(), KernelVersion().c_str());
  std::printf("Keys:       %d bytes each\n", key_bytes);
  std::printf("Values:     %s (%lld bytes after compression)\n", ValueSizesText(flags).c_str(),
              static_cast<long long>(compressed + 0.5));
  std::printf("Entries:    %lld\n", static_cast<long long>(flags.num));
  std::printf("RawSize:    %.1f MB (estimated)\nFileSize:   %.1f MB (estimated)\n", raw_mb, file_mb);
#ifndef __OPTIMIZE__
  std::printf("WARNING: Optimization is disabled: benchmarks unnecessarily slow\n");
#endif
  std::printf("------------------------------------------------\n");
  for (const std::string& name : flags.ignored) std::fprintf(stderr, "ignored: --%s\n", name.c_str());
  std::fflush(stdout);
}

int PrintHelp() {
  const std::string flags = FlagsHelp(), benchmarks = WorkloadsHelp();
  std::printf(
      "usage: db_bench [--FLAG=VALUE]...\n"
      "Runs benchmarks in order on one database and prints one line for each.\n\n"
      "    db_bench --benchmarks=fillrandom,waitforcompaction,readrandom --num=1000000 --engine=leveldb\n\n"
      "Flags and their defaults:\n%s\n"
      "Other flags of RocksDB's db_bench are accepted and ignored; the first lines of the output name them.\n\n"
      "Benchmarks, also printed by --list:\n%s",
      flags.c_str(), benchmarks.c_str());
  return 0;
}

int PrintList() {
  std::fputs(WorkloadsHelp().c_str(), stdout);
  return 0;
}

int Main(int argc, char** argv) {
  Flags flags;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--help" || argument == "-h" || argument == "--help=true") return PrintHelp();
    if (argument == "--list" || argument == "--list=true") return PrintList();
    if (ParseFlag(argument, &flags)) continue;
    std::fprintf(stderr, "Invalid flag '%s'; `db_bench --help` prints all flags, `db_bench --list` all benchmarks\n",
                 argv[i]);
    return 1;
  }
  if (const std::string conflict = FlagConflict(flags); !conflict.empty()) {
    std::fprintf(stderr, "Invalid flags: %s\n", conflict.c_str());
    return 1;
  }
  PrintHeader(flags);
  Runner runner(flags);
  const bool is_complete = runner.RunAll();
  if (flags.json.empty()) return is_complete ? 0 : 1;
  std::ofstream file(flags.json);
  file << ToJson(flags, std::vector<std::string>(argv, argv + argc), runner);
  file.close();
  if (!file) std::fprintf(stderr, "cannot write %s\n", flags.json.c_str());
  return file && is_complete ? 0 : 1;
}

}  // namespace
}  // namespace mergedb::bench

int main(int argc, char** argv) { return mergedb::bench::Main(argc, argv); }
