// The tests that kill processes, flip bits and fill the disk.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/random.h"
#include "torture/tests.h"

namespace mergedb::torture {
namespace {

constexpr uint64_t kKillAfterMicrosMax = 30'000;

// A child process writes the batches from `first` to `last`, then kills itself, after a close if `closes`.
pid_t StartWriter(const Order& order, uint64_t first, uint64_t last, bool closes, const SharedProgress& progress) {
  const pid_t child = fork();
  if (child != 0) return child;
  auto* const engine = NewEngine(order.engine).release();
  const Workload workload(order.seed);
  if (!engine->Open(DatabaseOf(order)).empty()) _exit(2);
  for (uint64_t n = first; n <= last; ++n) {
    progress->begun = n;
    if (!engine->Write(workload.BatchOf(n)).empty()) _exit(3);
    progress->returned = n;
  }
  if (closes && !engine->Close().empty()) _exit(4);
  kill(getpid(), SIGKILL);
  _exit(5);
}

void EmptyDatabase(const Order& order) {
  std::filesystem::remove_all(DatabaseOf(order));
  std::filesystem::create_directories(DatabaseOf(order));
}

using Files = std::vector<std::pair<std::string, std::string>>;  // name, bytes

// False for files in which no engine stores data.
bool HoldsData(const std::string& name) {
  return name != "LOCK" && name != "lock.mdb" && name != "IDENTITY" && !name.starts_with("LOG") &&
         !name.starts_with("OPTIONS") && !name.ends_with("-shm");
}

// "000012.log" -> "log", "MANIFEST-000005" -> "MANIFEST"
std::string KindOf(const std::string& name) {
  if (isdigit(static_cast<unsigned char>(name[0]))) return name.substr(name.find('.') + 1);
  return name.substr(0, name.find('-'));
}

Files ReadAll(const std::string& directory) {
  Files files;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.is_regular_file()) files.emplace_back(entry.path().filename(), ReadFile(entry.path()));
  }
  std::sort(files.begin(), files.end());
  return files;
}

void WriteAll(const Files& files, const std::string& directory) {
  std::filesystem::remove_all(directory);
  std::filesystem::create_directories(directory);
  for (const auto& [name, bytes] : files) {
    std::ofstream(directory + "/" + name, std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
}

std::string FlipVerdict(const Finding& finding) {
  switch (finding.verdict) {
    case Verdict::kRight: return finding.complained ? "detected" : "harmless";
    case Verdict::kLost:
    case Verdict::kHole:
    case Verdict::kWrong: return finding.complained ? "detected" : "silent";
    case Verdict::kRefused:
    case Verdict::kEarly:
    case Verdict::kPoisoned: return "detected";
    case Verdict::kDied: return "died";
    case Verdict::kHung: return "hung";
  }
  return "?";
}

void FlipSome(const Order& order, const Files& files, const char* state, base::Random* random, Result* result) {
  std::vector<size_t> kept;  // files with a byte other than zero: preallocated zeros are not flipped
  for (size_t i = 0; i < files.size(); ++i) {
    if (HoldsData(files[i].first) && files[i].second.find_first_not_of('\0') != std::string::npos) kept.push_back(i);
  }
  const Workload workload(order.seed);
  const std::string target = order.directory + "/state";
  for (uint64_t trial = 0; trial < order.trials / 2 && !kept.empty(); ++trial) {
    Files flipped = files;
    auto& [name, bytes] = flipped[kept[random->Uniform(kept.size())]];
    const size_t used = bytes.find_last_not_of('\0') + 1;
    const uint64_t at = random->Uniform(used);
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << random->Uniform(8)));
    WriteAll(flipped, target);
    const Finding finding = JudgeApart(order.engine, target, workload,
                                       {.begun = order.batches, .promised = order.batches, .was_ready = true}, false);
    ++result->trials;
    const std::string verdict = FlipVerdict(finding);
    if (++result->counts[verdict] <= 3 && verdict != "detected" && verdict != "harmless") {
      result->examples.push_back(verdict + ", " + state + ", " + name + " at " + std::to_string(at) + ": " +
                                 VerdictName(finding.verdict) + ", " + finding.detail.substr(0, 300));
    }
    if (verdict == "silent") ++result->counts["silent in " + KindOf(name)];
  }
}

}  // namespace

Result KillProcesses(const Order& order) {
  Result result{.test = "kill -9"};
  const SharedProgress progress(order);
  const Workload workload(order.seed);
  base::Random random(order.seed);
  EmptyDatabase(order);
  uint64_t found = 0;
  for (uint64_t cycle = 0; cycle < order.trials; ++cycle) {
    if (cycle % 10 == 9) {  // otherwise the markers, one a batch, make the check the slowest part
      EmptyDatabase(order);
      found = progress->begun = progress->returned = 0;
    }
    const pid_t writer = StartWriter(order, found + 1, UINT64_MAX, false, progress);
    usleep(static_cast<useconds_t>(random.Uniform(kKillAfterMicrosMax)));
    kill(writer, SIGKILL);
    int outcome = 0;
    waitpid(writer, &outcome, 0);
    ++result.trials;
    if (!WIFSIGNALED(outcome)) {
      ++result.counts["writer stopped"];
      result.examples.push_back("the writer stopped by itself, exit " + std::to_string(WEXITSTATUS(outcome)));
    }
    const Finding finding = JudgeApart(
        order.engine, DatabaseOf(order), workload,
        {.begun = progress->begun, .promised = progress->returned, .was_ready = progress->returned > 0}, false);
    result.Count(finding, "cycle " + std::to_string(cycle));
    if (finding.verdict != Verdict::kRight) EmptyDatabase(order);
    found = finding.verdict == Verdict::kRight ? finding.last : 0;
    progress->begun = progress->returned = found;
  }
  return result;
}

Result FlipBits(const Order& order) {
  Result result{.test = "flipped bit"};
  const SharedProgress progress(order);
  base::Random random(order.seed);
  for (const bool closes : {true, false}) {
    EmptyDatabase(order);
    int outcome = 0;
    waitpid(StartWriter(order, 1, order.batches, closes, progress), &outcome, 0);
    FlipSome(order, ReadAll(DatabaseOf(order)), closes ? "closed" : "killed", &random, &result);
  }
  return result;
}

Result FillDisk(const Order& order) {
  Result result{.test = "full disk"};
  const SharedProgress progress(order);
  for (uint64_t run = 0; run < order.trials; ++run) {
    Order seeded = order;
    seeded.seed = order.seed + run;
    std::string output;
    progress->begun = progress->returned = 0;
    (void)RunChild(seeded, {.command = "fill", .output = &output});
    std::map<std::string, std::string> said;
    std::istringstream lines(output);
    for (std::string line; std::getline(lines, line);) {
      const size_t space = std::min(line.find(' '), line.size());
      said[line.substr(0, space)] = space < line.size() ? line.substr(space + 1) : "";
    }
    ++result.trials;
    const bool is_back = said["back"].empty() && said["after"].empty();
    const char* const fate = said.contains("stuck")    ? "stuck"
                             : !said.contains("lived") ? "process died"
                             : is_back                 ? "back"
                                                       : "not back";
    ++result.counts[fate];
    if (!said["read"].empty()) ++result.counts["read failed"];
    for (const char* name : {"error", "written", "longest", "read", "back", "back_seconds", "after"})
      result.notes[name] = said[name].substr(0, 200);
    result.Count(JudgeApart(seeded.engine, DatabaseOf(seeded), Workload(seeded.seed),
                            {.begun = progress->begun, .promised = progress->returned, .was_ready = true}, true),
                 "after the disk was full");
  }
  return result;
}

}  // namespace mergedb::torture
