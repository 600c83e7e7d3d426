#include "torture/workload.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <set>

#include "base/random.h"
#include "testing/time_limit.h"

namespace mergedb::torture {
namespace {

constexpr uint64_t kKeys = 40;
constexpr uint64_t kNewBatches = 5;

Finding Refused(const Expectation& expected, const char* where, const std::string& error) {
  return {expected.was_ready ? Verdict::kRefused : Verdict::kEarly, std::string(where) + ": " + error};
}

void Apply(const Batch& batch, Pairs* state) {
  for (const auto& [key, value] : batch.changes) {
    if (value) {
      (*state)[key] = *value;
    } else {
      state->erase(key);
    }
  }
}

std::string FirstDifference(const Pairs& found, const Pairs& wanted) {
  for (const auto& [key, value] : wanted) {
    const auto it = found.find(key);
    if (it == found.end()) return key + " is missing";
    if (it->second != value) return key + " is " + it->second.substr(0, 16) + ", not " + value.substr(0, 16);
  }
  for (const auto& [key, value] : found) {
    if (!wanted.contains(key)) return key + " should not be there";
  }
  return {};
}

// Finds the batches whose markers exist, and checks that the contents are exactly those batches.
Finding Compare(const Pairs& found, const Workload& workload, const Expectation& expected) {
  Pairs wanted;
  Finding finding;
  uint64_t first_missing = 0;
  for (uint64_t n = 1; n <= expected.begun; ++n) {
    if (!found.contains(Workload::MarkerOf(n))) {
      if (first_missing == 0) first_missing = n;
      continue;
    }
    if (first_missing != 0 && finding.verdict == Verdict::kRight) {
      finding = {Verdict::kHole,
                 "batch " + std::to_string(first_missing) + " is missing, " + std::to_string(n) + " is there"};
    }
    Apply(workload.BatchOf(n), &wanted);
    finding.last = n;
  }
  if (std::string difference = FirstDifference(found, wanted); !difference.empty())
    return {Verdict::kWrong, difference, finding.last};
  if (finding.verdict == Verdict::kRight && finding.last < expected.promised) {
    return {Verdict::kLost,
            "ends at " + std::to_string(finding.last) + ", promised " + std::to_string(expected.promised),
            finding.last};
  }
  return finding;
}

// Checks that a get of every key that was ever written agrees with the scan.
Finding CompareGets(Engine& engine, const Pairs& found, const Expectation& expected) {
  const auto check = [&](const std::string& key) -> Finding {
    std::optional<std::string> value;
    if (std::string error = engine.Get(key, &value); !error.empty()) return Refused(expected, "get", error);
    const auto it = found.find(key);
    const bool is_same = it == found.end() ? !value : value == it->second;
    return is_same ? Finding{} : Finding{Verdict::kWrong, key + ": get and scan disagree"};
  };
  for (uint64_t key = 0; key < kKeys; ++key) {
    if (Finding finding = check("k" + std::to_string(key)); finding.verdict != Verdict::kRight) return finding;
  }
  for (uint64_t n = 1; n <= expected.begun; ++n) {
    if (Finding finding = check(Workload::MarkerOf(n)); finding.verdict != Verdict::kRight) return finding;
  }
  return {};
}

Finding WriteOn(Engine& engine, const std::string& directory, Pairs state) {
  const auto poisoned = [](const char* where, const std::string& error) {
    return Finding{Verdict::kPoisoned, std::string(where) + ": " + error};
  };
  for (uint64_t n = 0; n < kNewBatches; ++n) {
    const Batch batch{.number = n,
                      .changes = {{"new" + std::to_string(n), std::string(1000, 'n')}},
                      .is_synced = n + 1 == kNewBatches};
    if (std::string error = engine.Write(batch); !error.empty()) return poisoned("write", error);
    Apply(batch, &state);
  }
  if (std::string error = engine.Close(); !error.empty()) return poisoned("close", error);
  if (std::string error = engine.Open(directory); !error.empty()) return poisoned("second open", error);
  Pairs found;
  if (std::string error = engine.Scan(&found); !error.empty()) return poisoned("second scan", error);
  const std::string difference = FirstDifference(found, state);
  return difference.empty() ? Finding{} : poisoned("after the second open", difference);
}

}  // namespace

std::string Workload::MarkerOf(uint64_t number) {
  std::string digits = std::to_string(number);
  return "m" + std::string(8 - std::min<size_t>(digits.size(), 8), '0') + digits;
}

Batch Workload::BatchOf(uint64_t number) const {
  base::Random random(seed_ * 0x9E3779B97F4A7C15u + number);
  Batch batch{.number = number, .is_synced = number % 5 == 0};
  batch.changes.emplace_back(MarkerOf(number), std::to_string(number));
  for (uint64_t left = 1 + random.Uniform(3); left > 0; --left) {
    std::string key = "k" + std::to_string(random.Uniform(kKeys));
    const uint64_t bytes = 20 + random.Uniform(1480);
    std::string value = std::to_string(number) + ":";
    while (value.size() < bytes) value.push_back(static_cast<char>('a' + random.Uniform(26)));
    random.OneIn(5) ? batch.changes.emplace_back(std::move(key), std::nullopt)
                    : batch.changes.emplace_back(std::move(key), std::move(value));
  }
  return batch;
}

const char* VerdictName(Verdict verdict) {
  static constexpr const char* kNames[] = {"right", "lost", "hole", "wrong",   "refused",
                                           "early", "died", "hung", "poisoned"};
  return kNames[static_cast<size_t>(verdict)];
}

Finding Judge(Engine& engine, const std::string& directory, const Workload& workload, const Expectation& expected,
              bool write_on) {
  if (std::string error = engine.Open(directory); !error.empty()) return Refused(expected, "open", error);
  Pairs found;
  if (std::string error = engine.Scan(&found); !error.empty()) return Refused(expected, "scan", error);
  Finding finding = Compare(found, workload, expected);
  finding.complained = !engine.Complaint().empty();
  if (finding.verdict != Verdict::kRight) return finding;
  if (Finding gets = CompareGets(engine, found, expected); gets.verdict != Verdict::kRight) return gets;
  if (!write_on) return finding;
  Finding after = WriteOn(engine, directory, std::move(found));
  after.last = finding.last;
  after.complained = finding.complained;
  return after;
}

Finding JudgeApart(const std::string& engine_name, const std::string& directory, const Workload& workload,
                   const Expectation& expected, bool write_on, unsigned seconds) {
  int ends[2];
  if (pipe(ends) != 0) return {Verdict::kDied, "no pipe"};
  const pid_t child = fork();
  if (child == 0) {
    testing::LimitTime(seconds);
    const int null = open("/dev/null", O_WRONLY);  // the engine's messages must not appear in the table
    dup2(null, 2);
    auto* const engine = NewEngine(engine_name).release();
    const Finding finding = Judge(*engine, directory, workload, expected, write_on);
    char head[64] = {};
    const int bytes = std::snprintf(head, sizeof head, "%d %d %llu ", static_cast<int>(finding.verdict),
                                    finding.complained ? 1 : 0, static_cast<unsigned long long>(finding.last));
    const std::string text = std::string(head, static_cast<size_t>(bytes)) + finding.detail.substr(0, 2000);
    (void)!write(ends[1], text.data(), text.size());
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t count; (count = read(ends[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<size_t>(count));
  close(ends[0]);
  int outcome = 0;
  waitpid(child, &outcome, 0);
  if (WIFSIGNALED(outcome)) {
    return {testing::IsOutOfTime(outcome) ? Verdict::kHung : Verdict::kDied, strsignal(WTERMSIG(outcome))};
  }
  int verdict = static_cast<int>(Verdict::kDied), complained = 0, at = 0;
  unsigned long long last = 0;
  if (std::sscanf(text.c_str(), "%d %d %llu %n", &verdict, &complained, &last, &at) < 3)
    return {Verdict::kDied, "it said nothing"};
  return {static_cast<Verdict>(verdict), text.substr(static_cast<size_t>(at)), last, complained != 0};
}

}  // namespace mergedb::torture
