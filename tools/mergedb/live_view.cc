#include "live_view.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "db/observe/metrics.h"
#include "env/clock.h"
#include "env/hold.h"
#include "env/proc_file.h"
#include "format/file_name.h"

namespace mergedb::tool {

namespace {

// The unit as a static text with a NUL, as Metric wants it.
std::string_view StaticUnit(std::string_view unit) {
  for (const db::MetricRow& row : db::MetricRows()) {
    if (db::UnitName(row.unit) == unit) return db::UnitName(row.unit);
  }
  return "count";
}

std::string_view HelpOf(std::string_view name) {
  for (const db::MetricRow& row : db::MetricRows()) {
    if (row.name == name) return row.help;
  }
  return "A metric of another version of mergedb.";
}

uint64_t AgeOf(const format::LiveState& state, env::Liveness liveness) {
  const uint64_t boot_nanos = env::BootNanos(), wall_micros = env::WallMicros();
  if (liveness == env::Liveness::kRuns) return boot_nanos - std::min(boot_nanos, state.times.updated_boot_nanos);
  return (wall_micros - std::min(wall_micros, state.times.updated_unix_micros)) * 1000;
}

// The state in /proc/PID/stat follows the name of the program, which may have parentheses.
bool IsStopped(uint64_t pid) {
  const std::string stat = env::ReadProcFile("/proc/" + std::to_string(pid) + "/stat");
  const size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return false;
  const std::string state = stat.substr(name_end + 1, 2);
  return state == " T" || state == " t";
}

}  // namespace

std::optional<LiveView> LiveReader::ReadRunning() {
  Result<LiveView> view = Read();
  if (!view || view->has_ended()) return std::nullopt;
  return std::move(*view);
}

std::string PrintDuration(uint64_t nanos) {
  const double seconds = static_cast<double>(nanos) / 1e9;
  char text[64];
  const auto print = [&](const char* format, double value) { std::snprintf(text, sizeof text, format, value); };
  if (seconds >= 2 * 86'400) print("%.0f days", seconds / 86'400);
  else if (seconds >= 5'400) print("%.1f h", seconds / 3600);
  else if (seconds >= 90) print("%.0f min", seconds / 60);
  else if (seconds >= 1) print("%.1f s", seconds);
  else if (seconds >= 0.001) print("%.1f ms", seconds * 1e3);
  else print("%.1f us", seconds * 1e6);
  return text;
}

Result<LiveView> LiveView::Read(const std::string& directory) { return LiveReader(directory).Read(); }

Result<LiveView> LiveReader::Read() {
  LiveView view;
  Status status = view.Load(directory_);
  if (status.IsCorruption() || (status.ok() && view.MayBeOld())) {
    if (unanswered_ == view.state_.update) {
      view.is_silent_ = Hold();
    } else {
      status = Ask(&view, std::move(status));
    }
  }
  if (!view.is_silent_) held_.reset();
  unanswered_ = view.is_silent_ ? std::optional(view.state_.update) : std::nullopt;
  if (!status.ok()) return status;
  return view;
}

bool LiveView::MayBeOld() const {
  if (has_ended() || is_stopped_) return false;  // it would not answer
  return is_late() || (state_.times.period_nanos >= db::LivePublisher::kSlowPeriodNanos &&
                       age_nanos_ > db::LivePublisher::kPeriodNanos);
}

// WHY again and again: a commit may have replaced CURRENT.
bool LiveReader::Hold() {
  auto held = env::OpenHeld(*DefaultEnv().file_system, format::FilePath(directory_, format::FileKind::kCurrent));
  if (!held || !held->is_held) return false;
  held_ = std::move(held->file);
  return true;
}

Status LiveReader::Ask(LiveView* view, Status loaded) {
  constexpr uint64_t kPauseNanos = 50'000'000;
  const uint64_t update = view->state_.update;
  for (uint64_t waited = 0; waited < kAnswerNanosMax; waited += kPauseNanos) {
    if (!Hold()) return loaded;
    DefaultEnv().clock->SleepNanos(kPauseNanos);
    loaded = view->Load(directory_);
    if (!loaded.ok() && !loaded.IsCorruption()) return loaded;
    if (loaded.ok() && (view->has_ended() || view->state_.update != update)) return loaded;
  }
  view->is_silent_ = true;
  return loaded;
}

Status LiveView::Load(const std::string& directory) {
  Result<format::LiveState> state = db::ReadLiveState(DefaultEnv().file_system, directory);
  if (!state && state.error().IsNotFound()) {
    return Status::NotFound(directory +
                            ": no process publishes its state here (the file LIVE is missing, or empty if its disk is "
                            "full). A process does "
                            "so from one second after it opened the database for writes until it closes it");
  }
  if (!state) return state.error();
  state_ = std::move(*state);
  const format::LiveProcess& process = state_.process;
  liveness_ = env::LivenessOf({.pid = process.pid,
                               .pid_namespace = process.pid_namespace,
                               .start_ticks = process.start_ticks,
                               .boot_id = process.boot_id});
  is_stopped_ = liveness_ == env::Liveness::kRuns && IsStopped(process.pid);
  age_nanos_ = AgeOf(state_, liveness_);
  return {};
}

std::string LiveView::Describe() const {
  const format::LiveTimes& times = state_.times;
  const uint64_t open_nanos =
      (times.updated_unix_micros - std::min(times.updated_unix_micros, times.opened_unix_micros)) * 1000;
  std::string text = "process " + std::to_string(state_.process.pid);
  switch (liveness_) {
    case env::Liveness::kRuns: break;
    case env::Liveness::kEnded: text += " has ENDED without a close; this is its last state"; break;
    case env::Liveness::kUnknown: text += " (of another container; it may have ended)"; break;
  }
  text += ", open for " + PrintDuration(open_nanos) + ", updated " + PrintDuration(age_nanos_) + " ago";
  if (is_stopped_) text += ", is STOPPED: `kill -CONT " + std::to_string(state_.process.pid) + "` continues it";
  else if (is_late() && !has_ended()) text += ", which is LATE: the process hangs";
  else if (is_silent_) text += ", DOES NOT ANSWER";
  return text;
}

std::vector<Metric> LiveView::Metrics() const {
  std::vector<Metric> metrics;
  for (const format::LiveMetric& metric : state_.metrics) {
    if (metric.kind == format::LiveKind::kHistogram) continue;
    metrics.push_back({metric.name, StaticUnit(metric.unit),
                       metric.kind == format::LiveKind::kCounter ? MetricType::kCounter : MetricType::kGauge,
                       HelpOf(metric.name), metric.value});
  }
  metrics.push_back({"live_age_nanos", "nanoseconds", MetricType::kGauge,
                     "Time since the process that has the database open published these metrics.", age_nanos_});
  return metrics;
}

std::vector<db::ReadHistogram> LiveView::Histograms() const {
  std::vector<db::ReadHistogram> histograms;
  for (const db::HistogramRow& row : db::HistogramRows()) {
    for (const format::LiveMetric& metric : state_.metrics) {
      if (metric.kind != format::LiveKind::kHistogram || metric.name != row.name) continue;
      base::HistogramCounts counts;
      uint64_t sum = metric.value;
      for (const format::LiveBucket& bucket : metric.buckets)
        if (bucket.count > 0) counts.Add(bucket.upper, bucket.count, std::exchange(sum, 0));
      histograms.push_back({.row = &row, .counts = std::move(counts)});
    }
  }
  return histograms;
}

double LiveView::Rate(std::string_view name) const {
  const double seconds = static_cast<double>(std::max<uint64_t>(1, state_.times.window_nanos)) / 1e9;
  return static_cast<double>(state_.Growth(name)) / seconds;
}

}  // namespace mergedb::tool
