// The state that a process published in the file LIVE of its database, and what can be said about that process.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "db/observe/live_publisher.h"
#include "db/observe/metrics.h"
#include "env/process.h"
#include "mergedb/env.h"
#include "mergedb/metrics.h"
#include "mergedb/result.h"

namespace mergedb::tool {

class LiveView {
 public:
  // As LiveReader::Read, once.
  static Result<LiveView> Read(const std::string& directory);

  const format::LiveState& state() const { return state_; }
  env::Liveness liveness() const { return liveness_; }
  bool has_ended() const { return liveness_ == env::Liveness::kEnded; }
  uint64_t age_nanos() const { return age_nanos_; }  // of the state
  // The process missed its next update by far.
  bool is_late() const {
    const uint64_t period = state_.times.period_nanos;  // 0: no update until a counter changes
    return period != 0 && age_nanos_ > period + kLateNanos;
  }
  // A signal (SIGSTOP) or a debugger has stopped the process. An idle one is not late then: it owes no update.
  bool is_stopped() const { return is_stopped_; }
  // The process was asked for its present state, and has not published it.
  bool is_silent() const { return is_silent_; }
  // "process 123, open for 3 h, updated 0.4 s ago"; says if the process has ended or is stopped.
  std::string Describe() const;
  // The metrics as DB::Metrics gives them, plus live_age_nanos. They point into this object.
  std::vector<Metric> Metrics() const;
  // The histograms that this version of mergedb knows. The file LIVE has wider buckets than the process, each within
  // one power of two; the longest time is the upper bound of its bucket, at most an eighth too large.
  std::vector<db::ReadHistogram> Histograms() const;
  uint64_t Sum(std::string_view first, std::string_view second) const {
    return state_.Value(first) + state_.Value(second);
  }
  // The growth of a counter for each second of the window.
  double Rate(std::string_view name) const;

 private:
  static constexpr uint64_t kLateNanos = 5'000'000'000;

  friend class LiveReader;
  Status Load(const std::string& directory);
  bool MayBeOld() const;

  format::LiveState state_;
  env::Liveness liveness_ = env::Liveness::kUnknown;
  uint64_t age_nanos_ = 0;
  bool is_stopped_ = false;
  bool is_silent_ = false;
};

// Reads LIVE again and again.
class LiveReader {
 public:
  explicit LiveReader(std::string directory) : directory_(std::move(directory)) {}

  // NotFound, with advice, if there is no file LIVE in the directory.
  //
  // A process under a light load publishes its state seldom, and once a second while somebody asks for it. If the state
  // is old, or damaged, this call asks, and waits for the answer, at most kAnswerNanosMax. If none came, the question
  // stays, and the next calls do not wait until there is another state.
  Result<LiveView> Read();
  // The state of the process that has the database open for writes; nullopt if there is none, or if it publishes
  // nothing.
  std::optional<LiveView> ReadRunning();

 private:
  static constexpr uint64_t kAnswerNanosMax = 2'000'000'000;

  // The question is a shared lock on CURRENT, for which the process looks once a second (db/observe/live_publisher.h).
  bool Hold();
  Status Ask(LiveView* view, Status loaded);

  const std::string directory_;
  std::unique_ptr<File> held_;          // CURRENT, while a question is open
  std::optional<uint64_t> unanswered_;  // the update for which no newer one came; 0: a damaged file
};

std::string PrintDuration(uint64_t nanos);  // "1.2 s"

}  // namespace mergedb::tool
