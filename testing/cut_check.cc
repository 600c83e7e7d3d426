#include "testing/cut_check.h"

#include <utility>
#include <vector>

#include "base/random.h"
#include "testing/log_lines.h"

namespace mergedb::testing {
namespace {

using State = CrashOracle::State;

std::string Failed(const char* what, const Status& status) {
  return status.ok() ? "" : std::string(what) + ": " + status.ToString();
}

// The keys for point reads: every key of the oracle and of the scan, and some keys that were never written.
std::vector<std::string> KeysToAsk(const CrashOracle& oracle, const State& state) {
  std::vector<std::string> keys = oracle.KeysEverUsed();
  for (const auto& [key, value] : state) keys.push_back(key);
  for (const char* never : {"", "absent", "k", "zzz", "\xff"}) keys.emplace_back(never);
  return keys;
}

std::string ReadByKey(DB& db, const std::vector<std::string>& keys, const State& state) {
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  std::vector<std::string> many;
  const std::vector<Status> statuses = db.MultiGet({}, views, &many);
  for (size_t i = 0; i < keys.size(); ++i) {
    std::string one;
    const Status status = db.Get({}, keys[i], &one);
    const auto expected = state.find(keys[i]);
    const bool is_there = expected != state.end();
    for (const Status& each : {status, statuses[i]}) {
      if (!each.ok() && !each.IsNotFound()) return Failed("get", each);
      if (each.ok() != is_there)
        return "get " + keys[i] + (is_there ? ": absent, but" : ": there, but not") + " in the scan";
    }
    if (is_there && (one != expected->second || many[i] != one)) return "get " + keys[i] + ": not what the scan showed";
  }
  return "";
}

std::string ReadBackward(DB& db, const State& state) {
  const auto it = db.NewIterator();
  auto expected = state.rbegin();
  for (it->SeekToLast(); it->Valid(); it->Prev(), ++expected) {
    if (expected == state.rend()) return "the scan backward shows more: " + std::string(it->key());
    if (it->key() != expected->first || it->value() != expected->second) {
      return "the scan backward shows " + std::string(it->key()) + ", forward " + expected->first;
    }
  }
  if (!it->status().ok()) return Failed("scan backward", it->status());
  return expected == state.rend() ? "" : "the scan backward ends before " + expected->first;
}

std::string ReadPart(DB& db, const State& state, base::Random& random) {
  if (state.size() < 2) return "";
  const auto lower = std::next(state.begin(), static_cast<ptrdiff_t>(random.Uniform(state.size() - 1)));
  const auto upper = std::next(lower, 1 + static_cast<ptrdiff_t>(random.Uniform(2)));
  const State expected(lower, upper);
  Status status;
  const bool is_open = upper == state.end();
  IteratorOptions options{.lower = lower->first};
  if (!is_open) options.upper = upper->first;
  const State part = ReadForward(db, options, &status);
  if (!status.ok()) return Failed("scan of a part", status);
  const std::string difference = DescribeDifference(part, expected);
  return difference.empty() ? "" : "a part is not what the whole shows:" + difference;
}

// Reads everything in every way. Sets `*state` to the contents of the database.
std::string ReadEverything(DB& db, const CrashOracle& oracle, base::Random& random, State* state) {
  Status status;
  *state = ReadForward(db, {}, &status);
  std::string problem = Failed("scan", status);
  if (problem.empty()) problem = ReadBackward(db, *state);
  if (problem.empty()) problem = ReadByKey(db, KeysToAsk(oracle, *state), *state);
  if (problem.empty()) problem = ReadPart(db, *state, random);
  if (problem.empty()) problem = Failed("integrity", db.CheckIntegrity());
  std::string text;
  if (problem.empty() && db.GetProperty("mergedb.snapshots", &text) && !text.empty())
    problem = "snapshots outlived: " + text;
  if (problem.empty() && db.GetProperty("mergedb.errors", &text) && !text.empty()) problem = "errors: " + text;
  return problem;
}

// Overwrites, deletes and adds. The last write is synced, so that all of them must survive a crash.
std::string WriteAgain(DB& db, SimulatedEnv& sim, State* state) {
  const auto put = [&](const std::string& key, const std::string& value, Durability durability) {
    (*state)[key] = value;
    return db.Put({.durability = durability}, key, value);
  };
  Status status;
  if (!state->empty()) {
    const std::string first = state->begin()->first;
    status = put(first, "again:1", Durability::kProcessCrash);
    if (state->size() > 1) {
      const std::string last = state->rbegin()->first;
      state->erase(last);
      if (status.ok()) status = db.Delete({}, last);
    }
  }
  if (status.ok()) status = put("hot0", "again:2", Durability::kProcessCrash);
  sim.executor.RunOne();
  if (status.ok()) status = put("again", "again:3", Durability::kSynced);
  if (!status.ok()) return Failed("write again", status);
  const State now = ReadForward(db, {}, &status);
  if (!status.ok()) return Failed("scan after writing again", status);
  const std::string difference = DescribeDifference(now, *state);
  return difference.empty() ? "" : "after writing again:" + difference;
}

std::string CompareAgain(DB& db, const State& expected) {
  Status status;
  const State state = ReadForward(db, {}, &status);
  if (!status.ok()) return Failed("second scan", status);
  const std::string difference = DescribeDifference(state, expected);
  return difference.empty() ? "" : "after the second open:" + difference;
}

// Stops the database as the seed says, opens it again and compares.
std::string StopAndReopen(const CutSetup& setup, std::unique_ptr<SimulatedEnv> sim, std::unique_ptr<DB> db,
                          const State& expected, uint64_t seed) {
  static constexpr CrashMode kStops[] = {CrashMode::kKill, CrashMode::kMin, CrashMode::kPrefixTorn};
  const uint64_t choice = seed % (1 + std::size(kStops));
  std::unique_ptr<SimulatedEnv> next;
  if (choice == 0) {
    if (const Status status = db->Close(); !status.ok()) return Failed("second close", status);
  } else {
    next = SimulatedEnv::After(*sim, kStops[choice - 1], kCrashModels[seed / 8 % 2], seed);
  }
  db = nullptr;
  if (next != nullptr) sim = std::move(next);
  auto again = OpenFor(setup, sim.get());
  if (!again) return Failed("second open", again.error());
  return CompareAgain(**again, expected);
}

// `before`: LOG as the crash has left it.
std::string CheckLog(const LogFiles& before, SimulatedEnv& sim, const RecoveryCheck& check) {
  const TornLines torn = check.is_plain_kill ? TornLines::kNone : TornLines::kAnything;
  std::string problem = LogProblem(before, kSmallLogBytes, torn);
  const LogFiles after = ReadLog(*sim.files, SimulatedEnv::kPath);
  if (problem.empty()) problem = LogProblem(after, kSmallLogBytes, torn);
  return problem.empty() ? LogProblemOfOpen(before, after) : problem;
}

}  // namespace

std::string JudgeState(const CrashOracle::State& state, const RecoveryCheck& check) {
  if (check.oracle.Explain(state, check.owed)) return "";
  return "not a prefix of the commits; " + check.oracle.Difference(state, check.owed);
}

Recovered CheckRecovery(std::unique_ptr<FaultFileSystem> image, const RecoveryCheck& check) {
  Recovered recovered;
  base::Random random(check.seed);
  auto sim = std::make_unique<SimulatedEnv>(SimulatedEnv::Options{.seed = random.Next()}, std::move(image));
  const LogFiles log = check.setup.has_log ? ReadLog(*sim->files, SimulatedEnv::kPath) : LogFiles{};
  auto db = OpenFor(check.setup, sim.get());
  const auto corrupt = [&](const Status& status) { return check.may_be_corrupt && status.IsCorruption(); };
  if (!db) {
    recovered.is_corrupt = corrupt(db.error());
    if (!recovered.is_corrupt) recovered.problem = Failed("open", db.error());
    return recovered;
  }
  if (check.may_be_corrupt) {
    const Status whole = (*db)->CheckIntegrity();
    recovered.is_corrupt = corrupt(whole);
    if (recovered.is_corrupt) return recovered;
  }
  std::string report;
  (void)(*db)->GetProperty("mergedb.recovery", &report);
  // Without a mapped WAL buffer, a kill between two writes may cut a frame that was not acknowledged. Recovery cannot
  // tell it from any other torn frame, so it may report one.
  const bool is_cut_frame = (!check.setup.use_mapping || check.setup.is_append_only) && report.starts_with("torn tail");
  if (check.is_plain_kill && !report.empty() && !is_cut_frame) {
    recovered.problem = "a kill is reported as a loss: " + report;
  }
  if (check.setup.has_log && recovered.problem.empty()) recovered.problem = CheckLog(log, *sim, check);
  const std::string problem = ReadEverything(**db, check.oracle, random, &recovered.state);
  if (recovered.problem.empty()) recovered.problem = problem;
  if (recovered.problem.empty()) recovered.problem = JudgeState(recovered.state, check);
  CrashOracle::State expected = recovered.state;
  if (recovered.problem.empty()) recovered.problem = WriteAgain(**db, *sim, &expected);
  if (recovered.problem.empty()) {
    recovered.problem = StopAndReopen(check.setup, std::move(sim), std::move(*db), expected, random.Next());
  } else {
    *db = nullptr;  // the database must go before its environment
  }
  return recovered;
}

}  // namespace mergedb::testing
