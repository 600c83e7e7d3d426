#include "inspect_history.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>

#include "live_view.h"
#include "page_text.h"
#include "text.h"

namespace mergedb::tool {

namespace {

constexpr size_t kNotesMax = 12;

struct Event {
  double time = 0;
  nlohmann::json fields;

  uint64_t Number(const char* name) const {
    const auto found = fields.find(name);
    return found != fields.end() && found->is_number_unsigned() ? found->get<uint64_t>() : 0;
  }
  std::string Text(const char* name) const {
    const auto found = fields.find(name);
    return found != fields.end() && found->is_string() ? found->get<std::string>() : std::string();
  }
};

// Seconds since 1970 of "2026-11-26T04:05:06.123456Z"; below 0: it is no time.
double SecondsOf(const std::string& text) {
  std::tm day{};
  double seconds = 0;
  if (std::sscanf(text.c_str(), "%4d-%2d-%2dT%2d:%2d:%lf", &day.tm_year, &day.tm_mon, &day.tm_mday, &day.tm_hour,
                  &day.tm_min, &seconds) != 6)
    return -1;
  day.tm_year -= 1900;
  day.tm_mon -= 1;
  return static_cast<double>(timegm(&day)) + seconds;
}

std::string TimeText(double seconds, const char* format) {
  const auto whole = static_cast<std::time_t>(seconds);
  std::tm day{};
  gmtime_r(&whole, &day);
  char text[64];
  return std::string(text, std::strftime(text, sizeof text, format, &day));
}

std::vector<Event> ParseEvents(const std::vector<std::string>& lines) {
  std::vector<Event> events;
  for (const std::string& line : lines) {
    nlohmann::json fields = nlohmann::json::parse(line, nullptr, false);
    if (!fields.is_object()) continue;
    Event event{.fields = std::move(fields)};
    event.time = SecondsOf(event.Text("time"));
    if (event.time > 0 && !event.Text("event").empty()) events.push_back(std::move(event));
  }
  std::ranges::stable_sort(events, {}, &Event::time);
  if (!events.empty()) {
    const double since = events.back().time - History::kSecondsMax;
    std::erase_if(events, [&](const Event& event) { return event.time < since; });
  }
  return events;
}

std::string Duration(uint64_t micros) { return PrintDuration(micros * 1000); }

void AddNote(const Event& event, std::string text, History* history) {
  history->notes.push_back({event.time, std::move(text)});
  if (history->notes.size() > kNotesMax) history->notes.erase(history->notes.begin());
}

void Add(const Event& event, History::Column* column, History* history) {
  const std::string kind = event.Text("event");
  const uint64_t micros = event.Number("micros");
  if (kind == "flush_end") {
    ++history->flushes;
    history->flushed_bytes += event.Number("bytes");
    column->flushed_bytes += event.Number("bytes");
  } else if (kind == "compaction_begin") {
    if (event.Number("is_move") != 0) history->moves.insert(event.Number("job"));
  } else if (kind == "compaction_end") {
    History::Compactions& sum = history->compactions[event.Text("reason")];
    ++(history->moves.erase(event.Number("job")) > 0 ? sum.moves : sum.rewrites);
    if (event.Text("status") != "OK") ++sum.failed;
    sum.bytes_read += event.Number("bytes_read");
    sum.bytes_written += event.Number("bytes_written");
    sum.entries_in += event.Number("entries_in");
    sum.entries_out += event.Number("entries_out");
    sum.micros += micros;
    column->compacted_bytes += event.Number("bytes_written");
  } else if (kind == "stall_end") {
    ++history->stalls;
    history->stall_micros += micros;
    history->stall_causes[event.Text("cause")] += micros;
    column->stall_micros += micros;
  } else if (kind == "slow_call") {
    ++history->slow_calls;
    history->longest_call_micros = std::max(history->longest_call_micros, micros);
  } else if (kind == "open") {
    history->moves.clear();  // jobs are counted from each open
    AddNote(event,
            std::string("opened") + (event.Number("read_only") != 0 ? " read-only" : "") + " in " + Duration(micros),
            history);
  } else if (kind == "close") {
    AddNote(event, "closed", history);
  } else if (kind == "error") {
    AddNote(event, "ERROR of " + event.Text("work") + ": " + event.Text("status"), history);
  } else if (kind == "recovery" || kind == "import") {
    AddNote(event, kind + ": " + event.Text("report"), history);
  } else if (kind == "checkpoint") {
    AddNote(event, "checkpoint to " + event.Text("target") + ": " + event.Text("status"), history);
  }
}

const char* ExplainCause(std::string_view cause) {
  if (cause == "memory") return "writers waited for memory: a flush had to end first";
  if (cause == "wal") return "writers waited for room in the write-ahead log";
  if (cause == "delay") return "the database slowed writers down, so that flushes and compactions keep up";
  return "writers waited";
}

std::string Chart(const History& history) {
  uint64_t most = 1, longest = 1;
  for (const History::Column& each : history.columns) {
    most = std::max(most, each.flushed_bytes + each.compacted_bytes);
    longest = std::max(longest, each.stall_micros);
  }
  const double width = (history.to - history.from) / static_cast<double>(History::kColumns);
  std::string written = "<div class=columns>", waited = "<div class=\"columns low\">";
  double at = history.from;
  for (const History::Column& each : history.columns) {
    const std::string title = "<i title=\"" + TimeText(at, "%H:%M:%S") + " and the next " +
                              PrintDuration(static_cast<uint64_t>(width * 1e9)) + ": ";
    written += title + PrintBytes(each.flushed_bytes) + " flushed, " + PrintBytes(each.compacted_bytes) +
               " compacted\"><u style=\"height:" + Format("%.1f", 100 * Share(each.compacted_bytes, most)) +
               "%\"></u><b style=\"height:" + Format("%.1f", 100 * Share(each.flushed_bytes, most)) + "%\"></b></i>";
    waited += title + "writers waited " + Duration(each.stall_micros) +
              "\"><s style=\"height:" + Format("%.1f", 100 * Share(each.stall_micros, longest)) + "%\"></s></i>";
    at += width;
  }
  std::string out = "<div class=name><span>Bytes written, highest column " + PrintBytes(most) +
                    "</span><span><span class=key style=\"background:var(--data)\"></span>flushes<span class=key "
                    "style=\"background:var(--old)\"></span>compactions</span></div>" +
                    written + "</div>";
  if (history.stalls > 0)
    out += "<div class=name><span>Time in which writers waited or were slowed down, highest column " +
           Duration(longest) + "</span></div>" + waited + "</div>";
  const char* const format = history.to - history.from < 600 ? "%H:%M:%S" : "%d %b %H:%M";
  return out + "<div class=axis><span>" + TimeText(history.from, format) + "</span><span>" +
         TimeText((history.from + history.to) / 2, format) + "</span><span>" + TimeText(history.to, format) +
         " UTC</span></div>";
}

std::string CompactionTable(const History& history, std::string (*explain)(std::string_view reason)) {
  if (history.compactions.empty()) return "<p>No compaction ran in this time.</p>";
  std::string out =
      "<div class=scroll><table><tr><th>compactions, by reason</th><th>rewrote</th><th>moved only</th><th>read</th>"
      "<th>written</th><th>entries dropped</th><th>time</th><th>failed</th></tr>";
  for (const auto& [reason, sum] : history.compactions) {
    out +=
        TableRow({explain(reason), Thousands(sum.rewrites), Thousands(sum.moves), PrintBytes(sum.bytes_read),
                  PrintBytes(sum.bytes_written), Thousands(sum.entries_in - std::min(sum.entries_in, sum.entries_out)),
                  Duration(sum.micros), Thousands(sum.failed)});
  }
  return out + "</table></div>";
}

}  // namespace

History HistoryOf(const std::vector<std::string>& lines) {
  History history;
  const std::vector<Event> events = ParseEvents(lines);
  if (events.empty()) return history;
  history.events = events.size();
  history.from = events.front().time;
  history.to = std::max(events.back().time, history.from + 1);
  history.columns.resize(History::kColumns);
  for (const Event& event : events) {
    const double share = (event.time - history.from) / (history.to - history.from);
    const auto column = std::min(History::kColumns - 1, static_cast<size_t>(share * History::kColumns));
    Add(event, &history.columns[column], &history);
  }
  return history;
}

History ReadHistory(const std::string& directory) {
  std::vector<std::string> lines;
  for (const char* name : {"/LOG.old", "/LOG"}) {
    std::ifstream file(directory + name, std::ios::binary);
    for (std::string line; std::getline(file, line);) lines.push_back(line);
  }
  return HistoryOf(lines);
}

std::string PrintHistory(const History& history, std::string (*explain)(std::string_view reason)) {
  if (history.events == 0) {
    return "<h2>History</h2><p>It is not known: the directory has no file LOG with events. If a program opens the "
           "database with the option <b>log_bytes_max</b>, the database writes one.</p>";
  }
  std::string out = "<h2>History: the last " + PrintDuration(static_cast<uint64_t>((history.to - history.from) * 1e9)) +
                    " in LOG</h2><p>At most a day, up to the last event. " +
                    Count(history.flushes, "flush", "flushes") + " wrote " + PrintBytes(history.flushed_bytes) +
                    " from memory to new runs. ";
  if (history.stalls == 0) out += "Writers never waited long. ";
  for (const auto& [cause, micros] : history.stall_causes)
    out += "For " + Duration(micros) + " in all, " + ExplainCause(cause) + ". ";
  if (history.slow_calls > 0)
    out += Count(history.slow_calls, "call was", "calls were") + " slow; the slowest one took " +
           Duration(history.longest_call_micros) + ". ";
  out += "</p>" + Chart(history) + CompactionTable(history, explain);
  if (!history.notes.empty()) {
    out += "<div class=scroll><table class=notes><tr><th>UTC</th><th>also</th></tr>";
    for (const History::Note& note : history.notes)
      out += TableRow({TimeText(note.time, "%d %b %H:%M:%S"), ToLine(note.text)});
    out += "</table></div>";
  }
  return out;
}

}  // namespace mergedb::tool
