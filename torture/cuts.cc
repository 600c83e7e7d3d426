// Crash states from a recorded trace.
#include <filesystem>

#include "base/random.h"
#include "torture/replay.h"
#include "torture/tests.h"

namespace mergedb::torture {
namespace {

using testing::CrashChoice;
using testing::CrashMode;
using testing::CrashModel;

constexpr uint64_t kWriteOnOneIn = 8;
constexpr size_t kExamplesMax = 2;  // for each verdict

// Judges crash images. A known right image is judged again only if its last batch does not fit the new
// expectation.
class States {
 public:
  States(const Order& order, const Workload& workload) : order_(order), workload_(workload), random_(order.seed) {}

  Finding Judge(const testing::Disk& image, const Expectation& expected) {
    const uint64_t fingerprint = FingerprintOf(image);
    if (const auto known = right_.find(fingerprint); known != right_.end()) {
      if (known->second >= expected.promised && known->second <= expected.begun) return {};
    }
    const std::string target = order_.directory + "/state";
    Materialise(image, "/db", target);
    Finding finding = JudgeApart(order_.engine, target, workload_, expected, random_.OneIn(kWriteOnOneIn));
    if (finding.verdict == Verdict::kRight) right_[fingerprint] = finding.last;
    return finding;
  }
  size_t different() const { return right_.size(); }

 private:
  const Order& order_;
  const Workload& workload_;
  base::Random random_;
  std::map<uint64_t, uint64_t> right_;  // fingerprint -> the last batch in the image
};

struct Kind {
  CrashMode mode;
  CrashModel model;
};

std::vector<Kind> KindsOf(CrashModel model) {
  std::vector<Kind> kinds;
  for (const CrashMode mode : testing::kPowerCutModes) kinds.push_back({mode, model});
  return kinds;
}

std::string TraceOf(const Order& order, uint64_t fail_sync, std::string* end) {
  const std::string path = order.directory + "/trace";
  (void)RunChild(order, {.command = "work", .trace = path, .fail_sync = fail_sync, .output = end});
  std::string trace = ReadFile(path);
  std::filesystem::remove(path);
  return trace;
}

uint64_t BoundariesOf(const std::string& trace) {
  Replay replay(trace, "/db");
  uint64_t boundaries = 0;
  for (bool changed = false; replay.Step(&changed);) boundaries += changed;
  return boundaries;
}

// Compares the replayed end of the trace with the real files of the process. Empty if the recorder saw every
// write. Info logs are left out, because engines write them with stdio, which the recorder does not see.
std::string RecorderError(const Order& order, const std::string& trace) {
  Replay replay(trace, "/db");
  for (bool changed = false; replay.Step(&changed);) {}
  const std::string target = order.directory + "/state";
  Materialise(testing::CrashImage(replay.disk(), {.mode = CrashMode::kKill}), "/db", target);
  for (const auto& entry : std::filesystem::directory_iterator(DatabaseOf(order))) {
    const std::string name = entry.path().filename();
    if (name.starts_with("LOG") || name == "lock.mdb" || name.ends_with("-shm")) continue;
    if (ReadFile(entry.path()) != ReadFile(target + "/" + name)) return name + " is not as the trace has it";
  }
  return {};
}

// About `trials` states of the given kinds, spread evenly over those records of the trace for which `begins`
// holds.
template <typename Begins>
void CrashThroughout(const Order& order, const std::string& trace, const std::vector<Kind>& kinds, Begins&& begins,
                     States* states, Result* result) {
  base::Random random(order.seed * 77 + kinds.size());
  const uint64_t all = std::max<uint64_t>(1, BoundariesOf(trace) * kinds.size());
  Replay replay(trace, "/db");
  for (bool changed = false; replay.Step(&changed);) {
    if (!changed || !begins(replay)) continue;
    for (const Kind& kind : kinds) {
      if (random.Uniform(all) >= order.trials) continue;
      const bool is_kill = kind.mode == CrashMode::kKill;
      const uint64_t promised = is_kill ? replay.last_returned() : replay.last_durable();
      const Expectation expected{.begun = replay.last_begun(), .promised = promised, .was_ready = promised > 0};
      const CrashChoice choice{.mode = kind.mode, .model = kind.model, .seed = random.Next()};
      ++result->trials;
      result->Count(states->Judge(testing::CrashImage(replay.disk(), choice), expected),
                    std::string(CrashModeName(kind.mode)) + " after record " + std::to_string(replay.records()));
    }
  }
}

}  // namespace

void Result::Count(const Finding& finding, const std::string& where) {
  const std::string name = VerdictName(finding.verdict);
  const uint64_t count = ++counts[name];
  if (finding.verdict != Verdict::kRight && count <= kExamplesMax)
    examples.push_back(name + ", " + where + ": " + finding.detail.substr(0, 300));
}

std::vector<Result> CutPower(const Order& order) {
  std::string end;
  const std::string trace = TraceOf(order, 0, &end);
  const std::string recorder_error = RecorderError(order, trace);
  const Workload workload(order.seed);
  States states(order, workload);
  const auto always = [](const Replay&) { return true; };
  std::vector<Result> results = {
      {.test = "kill between calls"}, {.test = "power cut, journaling"}, {.test = "power cut, strict"}};
  Order fewer = order;
  fewer.trials = order.trials / 5;
  CrashThroughout(fewer, trace, {{CrashMode::kKill, CrashModel::kStrict}}, always, &states, &results[0]);
  CrashThroughout(order, trace, KindsOf(CrashModel::kJournaled), always, &states, &results[1]);
  CrashThroughout(order, trace, KindsOf(CrashModel::kStrict), always, &states, &results[2]);
  for (Result& result : results) {
    result.notes["trace_bytes"] = std::to_string(trace.size());
    if (end != "\n") result.notes["workload"] = end;
    if (!recorder_error.empty()) result.notes["recorder"] = recorder_error;
  }
  return results;
}

Result FailSyncs(const Order& order) {
  Result result{.test = "failed sync"};
  const Workload workload(order.seed);
  base::Random random(order.seed);
  // Syncs are not spread evenly over the files, so the runs step through the sequence of syncs, up to the last
  // one.
  for (uint64_t run = 0, nth = 1; run < order.trials; ++run, nth += 1 + random.Uniform(4)) {
    std::string end;
    const std::string trace = TraceOf(order, nth, &end);
    States states(order, workload);
    Order few = order;
    few.trials = 12;
    const uint64_t before = result.trials;
    CrashThroughout(
        few, trace, {{CrashMode::kKill, CrashModel::kJournaled}, {CrashMode::kMin, CrashModel::kJournaled}},
        [](const Replay& replay) { return replay.failed_syncs() > 0; }, &states, &result);
    result.counts[end == "\n" ? "went on" : "gave up writing"] += 1;
    Replay replay(trace, "/db");
    for (bool changed = false; replay.Step(&changed);) {}
    if (replay.failed_syncs() == 0) {  // past the last sync
      result.counts[end == "\n" ? "went on" : "gave up writing"] -= 1;
      break;
    }
    if (result.trials == before && end != "\n") result.notes["stopped"] = end;
  }
  return result;
}

}  // namespace mergedb::torture
