// The verb top: what an open database does now, from its file LIVE, in 80 columns.
//
// On a terminal it draws a screen again and again and reads keys; a guard restores the terminal on every way out, also
// after a signal. Elsewhere, and with --once, it prints one screen as lines.
//
// Tests: tests/db/top_test.cc, with a pseudo-terminal.
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "command.h"
#include "db/observe/diagnosis.h"
#include "live_view.h"
#include "text.h"

namespace mergedb::tool::top_verb {
namespace {

struct Arguments : Line {
  bool is_once = false;
  bool is_json = false;
  double interval_seconds = 1;
};

constexpr size_t kColumns = 80;
constexpr size_t kBarColumns = 24;

volatile std::sig_atomic_t signal_seen = 0;
void NoteSignal(int signal) { signal_seen = signal; }

// ---- lines ----------------------------------------------------------------------------------------------------

std::string Bar(double share, size_t columns) {
  const auto filled = static_cast<size_t>(std::clamp(share, 0.0, 1.0) * static_cast<double>(columns) + 0.5);
  return std::string(filled, '#') + std::string(columns - filled, '.');
}

std::string PerSecond(double bytes) { return PrintBytes(static_cast<uint64_t>(bytes)) + "/s"; }

// The wait as a share of the window, in percent. Several writers may wait at once.
std::string WaitOf(const LiveView& view, const char* name) {
  const double percent = view.Rate(name) / 1e7;
  return percent > 0 && percent < 0.1 ? "<0.1 %" : Format("%.1f %%", percent);
}

// The upper bound of the bucket that holds this quantile of the values in the window; 0 without values.
uint64_t Quantile(const format::LiveMetric& metric, double share) {
  uint64_t all = 0, seen = 0;
  for (const auto& bucket : metric.buckets) all += bucket.count - std::min(bucket.count, bucket.count_before);
  for (const auto& bucket : metric.buckets) {
    seen += bucket.count - std::min(bucket.count, bucket.count_before);
    if (all > 0 && static_cast<double>(seen) >= share * static_cast<double>(all)) return bucket.upper;
  }
  return 0;
}

std::vector<std::string> LatencyLines(const format::LiveState& state) {
  std::vector<std::string> lines;
  for (const format::LiveMetric& metric : state.metrics) {
    if (metric.kind != format::LiveKind::kHistogram || metric.unit != "nanoseconds") continue;
    if (Quantile(metric, 1.0) == 0) continue;
    constexpr std::string_view kSuffix = "_latency_nanos";
    std::string name = metric.name;
    if (name.ends_with(kSuffix)) name.resize(name.size() - kSuffix.size());
    lines.push_back(Format("latency     %-14s p50 %9s   p99 %9s   p99.9 %9s", name.substr(0, 14).c_str(),
                           PrintDuration(Quantile(metric, 0.5)).c_str(), PrintDuration(Quantile(metric, 0.99)).c_str(),
                           PrintDuration(Quantile(metric, 0.999)).c_str()));
  }
  return lines;
}

std::vector<std::string> SummaryLines(const LiveView& view) {
  const format::LiveState& state = view.state();
  const double hits = view.Rate("block_cache_hits"), misses = view.Rate("block_cache_misses");
  const double written =
      view.Rate("wal_bytes_written") + view.Rate("flush_bytes") + view.Rate("compaction_bytes_written");
  const double appended = view.Rate("wal_bytes_appended");
  std::vector<std::string> lines;
  lines.push_back(Format("writes      %.0f/s, %.0f records/s, WAL %s, %.0f syncs/s", view.Rate("writes"),
                         view.Rate("records_written"), PerSecond(appended).c_str(), view.Rate("wal_syncs")));
  lines.push_back(Format("reads       %.0f blocks/s, %.1f %% in the cache of %s (%.0f %% used)", hits + misses,
                         hits + misses > 0 ? 100 * hits / (hits + misses) : 100.0,
                         PrintBytes(state.Value("block_cache_bytes_max")).c_str(),
                         100 * Share(state.Value("block_cache_bytes"), state.Value("block_cache_bytes_max"))));
  for (std::string& line : LatencyLines(state)) lines.push_back(std::move(line));
  lines.push_back("stalls      write delay " + WaitOf(view, "write_delay_wait_nanos") + ", memory " +
                  WaitOf(view, "memory_wait_nanos") + ", WAL buffer " + WaitOf(view, "wal_buffer_wait_nanos") +
                  ", WAL space " + WaitOf(view, "segment_wait_nanos"));
  lines.push_back(Format(
      "background  flushes %s, compactions %s, write amplification %.1f", PerSecond(view.Rate("flush_bytes")).c_str(),
      PerSecond(view.Rate("compaction_bytes_written")).c_str(), appended > 0 ? written / appended : 0.0));
  lines.push_back(Format("memory      memtables %s (%llu of them), open tables %s",
                         PrintBytes(state.Value("memtable_bytes")).c_str(),
                         static_cast<unsigned long long>(state.Value("memtables")),
                         PrintBytes(state.Value("table_memory_bytes")).c_str()));
  lines.push_back("space       tables " + PrintBytes(state.Value("table_bytes_on_disk")) + " (live " +
                  PrintBytes(state.Value("table_bytes_live")) + "), blobs " +
                  PrintBytes(state.Value("blob_bytes_on_disk")) + " (live " +
                  PrintBytes(state.Value("blob_bytes_live")) + "), WAL " +
                  PrintBytes(state.Value("wal_bytes_on_disk")));
  lines.push_back(Format(
      "readers     %llu snapshots%s, %llu transactions", static_cast<unsigned long long>(state.Value("snapshots_open")),
      state.Value("snapshots_open") == 0
          ? ""
          : (", the oldest " + PrintDuration(state.Value("snapshot_oldest_age_nanos")) + " old").c_str(),
      static_cast<unsigned long long>(state.Value("transactions_open"))));
  return lines;
}

std::vector<std::string> LimitLines(const LiveView& view) {
  std::vector<std::string> lines;
  const auto findings = db::Diagnose(view.state());
  if (findings.empty()) lines.push_back("limits      nothing limits the database now");
  for (const db::Finding& finding : findings)
    lines.push_back((lines.empty() ? "limits      " : "            ") + ToLine(finding.text));
  if (!findings.empty()) lines.push_back("            (mergedb why DIR: the figures, and what would change it)");
  return lines;
}

std::vector<std::string> CompactionLines(const LiveView& view) {
  std::vector<std::string> lines;
  if (view.state().compactions.empty()) return {"no compaction runs"};
  lines.push_back("COMPACTION       RUNS  LEVEL      INPUT    WRITTEN  PROGRESS");
  for (const format::LiveCompaction& each : view.state().compactions) {
    const double share = std::min(1.0, Share(each.entries_read, each.entries));
    std::string left;
    if (share > 0.01 && share < 1)
      left = " " + PrintDuration(static_cast<uint64_t>(static_cast<double>(each.age_nanos) * (1 - share) / share));
    lines.push_back(Format("%-16s %4llu  %5llu %10s %10s  %s %3.0f %%%s", ToLine(each.reason).substr(0, 16).c_str(),
                           static_cast<unsigned long long>(each.runs), static_cast<unsigned long long>(each.level),
                           PrintBytes(each.input_bytes).c_str(), PrintBytes(each.written_bytes).c_str(),
                           Bar(share, 12).c_str(), share * 100, left.c_str()));
  }
  return lines;
}

std::vector<std::string> RunLines(const LiveView& view) {
  const auto& runs = view.state().runs;
  uint64_t largest = 1;
  for (const format::LiveRun& run : runs) largest = std::max(largest, run.bytes + run.value_bytes);
  std::vector<std::string> lines = {"   RUN  LEVEL  TABLES      SIZE     ENTRIES  DELETED  SHARE OF THE LARGEST"};
  for (const format::LiveRun& run : runs) {
    const uint64_t bytes = run.bytes + run.value_bytes;
    lines.push_back(Format("%6llu  %5llu  %6llu %9s %11llu  %5.1f %%  %s",
                           static_cast<unsigned long long>(run.position), static_cast<unsigned long long>(run.level),
                           static_cast<unsigned long long>(run.tables), PrintBytes(bytes).c_str(),
                           static_cast<unsigned long long>(run.entries), 100 * Share(run.tombstones, run.entries),
                           Bar(Share(bytes, largest), kBarColumns).c_str()));
  }
  if (runs.empty()) lines.push_back("(no sorted run: all data is in memtables)");
  return lines;
}

// Lines that are longer than the screen are cut; the texts of `limits` go on in the next line.
void AppendWrapped(const std::string& line, std::vector<std::string>* lines) {
  constexpr size_t kIndent = 12;
  std::string rest = line;
  while (rest.size() > kColumns) {
    size_t cut = rest.rfind(' ', kColumns);
    if (cut == std::string::npos || cut <= kIndent) cut = kColumns;
    lines->push_back(rest.substr(0, cut));
    rest = std::string(kIndent, ' ') + rest.substr(std::min(rest.size(), cut + (rest[cut] == ' ' ? 1 : 0)));
  }
  lines->push_back(std::move(rest));
}

std::vector<std::string> Screen(const std::string& directory, const Result<LiveView>& view) {
  std::vector<std::string> lines;
  AppendWrapped("mergedb top " + ToText(directory), &lines);
  if (!view) {
    AppendWrapped(ToLine(view.status().ToString()), &lines);
    return lines;
  }
  AppendWrapped(view->Describe(), &lines);
  AppendWrapped("rates of the last " + PrintDuration(view->state().times.window_nanos), &lines);
  lines.emplace_back();
  for (const std::string& line : SummaryLines(*view)) AppendWrapped(line, &lines);
  for (const std::string& line : LimitLines(*view)) AppendWrapped(line, &lines);
  lines.emplace_back();
  for (const auto& list : {CompactionLines(*view), {""}, RunLines(*view)})
    lines.insert(lines.end(), list.begin(), list.end());
  return lines;
}

// ---- JSON -----------------------------------------------------------------------------------------------------

nlohmann::ordered_json ToJson(const std::string& directory, const LiveView& view) {
  const format::LiveState& state = view.state();
  nlohmann::ordered_json metrics = nlohmann::ordered_json::object(), rates = metrics,
                         runs = nlohmann::ordered_json::array(), compactions = runs,
                         latencies = nlohmann::ordered_json::object();
  for (const format::LiveMetric& metric : state.metrics) {
    if (metric.kind == format::LiveKind::kHistogram) {
      latencies[metric.name] = {{"unit", metric.unit},
                                {"p50", Quantile(metric, 0.5)},
                                {"p99", Quantile(metric, 0.99)},
                                {"p99.9", Quantile(metric, 0.999)}};
      continue;
    }
    metrics[metric.name] = metric.value;
    if (metric.kind == format::LiveKind::kCounter) rates[metric.name] = view.Rate(metric.name);
  }
  for (const format::LiveRun& run : state.runs) {
    runs.push_back({{"position", run.position},
                    {"level", run.level},
                    {"tables", run.tables},
                    {"bytes", run.bytes},
                    {"value_bytes", run.value_bytes},
                    {"entries", run.entries},
                    {"tombstones", run.tombstones}});
  }
  for (const format::LiveCompaction& each : state.compactions) {
    compactions.push_back({{"reason", each.reason},
                           {"runs", each.runs},
                           {"level", each.level},
                           {"input_bytes", each.input_bytes},
                           {"written_bytes", each.written_bytes},
                           {"entries", each.entries},
                           {"entries_read", each.entries_read},
                           {"age_seconds", static_cast<double>(each.age_nanos) / 1e9}});
  }
  return {{"directory", directory},
          {"pid", state.process.pid},
          {"boot_id", state.process.boot_id},
          {"has_ended", view.has_ended()},
          {"is_late", view.is_late()},
          {"is_stopped", view.is_stopped()},
          {"did_not_answer", view.is_silent()},
          {"opened_unix_seconds", static_cast<double>(state.times.opened_unix_micros) / 1e6},
          {"updated_unix_seconds", static_cast<double>(state.times.updated_unix_micros) / 1e6},
          {"age_seconds", static_cast<double>(view.age_nanos()) / 1e9},
          {"window_seconds", static_cast<double>(state.times.window_nanos) / 1e9},
          {"error", ToLine(state.Text("error"))},
          {"metrics", metrics},
          {"rates_per_second", rates},
          {"latencies", latencies},
          {"compactions", compactions},
          {"runs", runs}};
}

// ---- the terminal ---------------------------------------------------------------------------------------------

// Keys without echo, and the second screen of the terminal; the destructor restores both.
class Terminal {
 public:
  Terminal() {
    has_keys_ = tcgetattr(STDIN_FILENO, &before_) == 0;
    if (has_keys_) {
      termios raw = before_;
      raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
      raw.c_cc[VMIN] = 0;
      raw.c_cc[VTIME] = 0;
      tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    }
    Print("\033[?1049h\033[?25l");
  }
  ~Terminal() {
    Print("\033[?25h\033[?1049l");
    std::fflush(stdout);
    if (has_keys_) tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  static size_t Rows() {
    winsize size{};
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 2 ? size.ws_row : 24;
  }
  static void Draw(const std::vector<std::string>& lines, size_t first, const std::string& last) {
    std::string out = "\033[H";
    const size_t rows = Rows() - 1;
    for (size_t row = 0; row < rows; ++row) {
      if (first + row < lines.size()) out += lines[first + row];
      out += "\033[K\r\n";
    }
    Print(out + "\033[7m" + last + "\033[0m\033[K");
    std::fflush(stdout);
  }
  // Bytes of keys that came within `millis`; empty after a signal, too.
  std::string ReadKeys(int millis) const {
    pollfd waits{.fd = has_keys_ ? STDIN_FILENO : -1, .events = POLLIN, .revents = 0};
    if (poll(&waits, 1, millis) <= 0 || (waits.revents & (POLLIN | POLLHUP)) == 0) return "";
    char bytes[64];
    const ssize_t count = ::read(STDIN_FILENO, bytes, sizeof bytes);
    if (count <= 0) signal_seen = SIGHUP;  // the terminal is gone
    return count <= 0 ? "" : std::string(bytes, static_cast<size_t>(count));
  }

 private:
  termios before_{};
  bool has_keys_ = false;
};

constexpr const char* kHelp[] = {
    "mergedb top: what an open database does now",
    "",
    "  q           quit",
    "  s           set the seconds between two screens",
    "  up, down    scroll by a line         page up, page down    by a screen",
    "  h, ?        this page; any key goes back",
    "",
    "stalls are the time that writers waited, as a share of the time; two writers",
    "that wait all the time are 200 %. A run is a sorted run of tables: a read of",
    "an absent key looks into each of them, and compactions make fewer of them.",
};

class Top {
 public:
  explicit Top(const Arguments& arguments) : arguments_(arguments), interval_seconds_(arguments.interval_seconds) {}

  // The first screen, before the terminal changes: a wrong directory should stay visible.
  Status Begin() {
    const Result<LiveView> view = reader_.Read();
    lines_ = Screen(arguments_.directory, view);
    return view.status();
  }
  int Run() {
    Terminal terminal;
    int wait_millis = static_cast<int>(interval_seconds_ * 1000);
    while (signal_seen == 0 && !is_over_) {
      if (wait_millis <= 0) {
        lines_ = Screen(arguments_.directory, reader_.Read());
        wait_millis = static_cast<int>(interval_seconds_ * 1000);
      }
      Draw();
      timespec began{}, ended{};
      clock_gettime(CLOCK_MONOTONIC, &began);
      TakeKeys(terminal.ReadKeys(wait_millis));
      clock_gettime(CLOCK_MONOTONIC, &ended);
      wait_millis -= std::max(
          1, static_cast<int>((ended.tv_sec - began.tv_sec) * 1000 + (ended.tv_nsec - began.tv_nsec) / 1'000'000));
    }
    return kOk;
  }

 private:
  void Draw() {
    if (is_help_) {
      Terminal::Draw({std::begin(kHelp), std::end(kHelp)}, 0, " any key: back ");
      return;
    }
    const size_t rows = Terminal::Rows() - 1;
    first_ = std::min(first_, lines_.size() > rows ? lines_.size() - rows : 0);
    Terminal::Draw(lines_, first_,
                   prompt_ ? " seconds between two screens: " + *prompt_
                           : Format(" q quit  s seconds (%.3g)  arrows scroll  h help ", interval_seconds_));
  }
  void TakeKeys(std::string_view keys) {
    while (!keys.empty()) {
      if (keys.starts_with("\033[")) {
        TakeEscape(&keys);
        continue;
      }
      TakeKey(keys.front());
      keys.remove_prefix(1);
    }
  }
  void TakeEscape(std::string_view* keys) {
    keys->remove_prefix(2);
    const size_t page = Terminal::Rows() - 2;
    const char key = keys->empty() ? '\0' : keys->front();
    if (key == 'A') first_ -= std::min<size_t>(first_, 1);
    if (key == 'B') ++first_;
    if (key == '5') first_ -= std::min(first_, page);
    if (key == '6') first_ += page;
    keys->remove_prefix(std::min<size_t>(keys->size(), key == '5' || key == '6' ? 2 : 1));
  }
  void TakeKey(char key) {
    if (prompt_) return TakePromptKey(key);
    if (is_help_) {
      is_help_ = false;
    } else if (key == 'q') {
      is_over_ = true;
    } else if (key == 'h' || key == '?') {
      is_help_ = true;
    } else if (key == 's') {
      prompt_ = "";
    }
  }
  void TakePromptKey(char key) {
    if ((key >= '0' && key <= '9') || key == '.') {
      if (prompt_->size() < 6) *prompt_ += key;
    } else if (key == '\x7f' || key == '\b') {
      if (!prompt_->empty()) prompt_->pop_back();
    } else {
      if ((key == '\n' || key == '\r') && !prompt_->empty()) {
        char* end = nullptr;
        const double seconds = std::strtod(prompt_->c_str(), &end);
        if (*end == '\0' && seconds > 0) interval_seconds_ = std::clamp(seconds, 0.1, 3600.0);
      }
      prompt_ = std::nullopt;
    }
  }

  const Arguments& arguments_;
  LiveReader reader_{arguments_.directory};
  double interval_seconds_;
  std::vector<std::string> lines_;
  size_t first_ = 0;
  bool is_help_ = false;
  bool is_over_ = false;
  std::optional<std::string> prompt_;  // what was typed after s
};

int RunOnce(const Arguments& arguments) {
  const Result<LiveView> view = LiveView::Read(arguments.directory);
  if (!view) return Fail(view.status());
  if (arguments.is_json) {
    PrintJson(ToJson(arguments.directory, *view), 2);
  } else {
    for (const std::string& line : Screen(arguments.directory, view)) Print(line + "\n");
  }
  return kOk;
}

int Run(Arguments& arguments) {
  if (arguments.is_once || arguments.is_json || isatty(STDOUT_FILENO) == 0) return RunOnce(arguments);
  Top top(arguments);
  if (const Status status = top.Begin(); !status.ok()) return Fail(status);
  struct sigaction action {};
  action.sa_handler = NoteSignal;  // no SA_RESTART: poll ends
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) sigaction(signal, &action, nullptr);
  const int exit = top.Run();
  if (signal_seen == 0 || signal_seen == SIGINT) return exit;
  // The parent sees the signal that ended this process.
  action.sa_handler = SIG_DFL;
  const int signal = signal_seen;
  sigaction(signal, &action, nullptr);
  raise(signal);
  return kError;
}

}  // namespace

void Add(Command& command) {
  const auto [verb, arguments] =
      AddVerb(command,
              {.usage = "top DIR [--once | --json | --interval SECONDS]",
               .description = "Show what an open database does now, as top does",
               .footer = "Rates, waits of writers, running compactions and sorted runs of the process that has the "
                         "database open. It\n"
                         "publishes them in the file LIVE once a second, or, under a light load, when `top` asks for "
                         "them by a lock on\n"
                         "CURRENT. `top` reads LIVE and nothing else. After a kill, the last state stays readable "
                         "until the next open.\n"
                         "If stdout is no terminal, one screen is printed.\n"
                         "Keys: q quit, s seconds between screens, arrows scroll, h help.",
               .examples = {"mergedb top /srv/data", "mergedb top /srv/data --json | jq .rates_per_second.writes"}},
              Run);
  CLI::Option* const once = verb->add_flag("--once", arguments.is_once, "Print one screen and end");
  CLI::Option* const json = verb->add_flag("--json", arguments.is_json, "Print one JSON object and end");
  verb->add_option("--interval", arguments.interval_seconds, "Seconds between two screens; default: 1")
      ->type_name("SECONDS")
      ->check(DecimalFrom(0.1, 3600))
      ->excludes(once)
      ->excludes(json);
}

}  // namespace mergedb::tool::top_verb
