#include "inspect_history.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "live_view.h"
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

// Seconds since 1970 of "2026-11-26T04:05:06.123456Z", exactly in this form; below 0: it is no time.
double SecondsOf(const std::string& text) {
  constexpr std::string_view kForm = "dddd-dd-ddTdd:dd:dd.ddddddZ";
  const auto has_form = [](char c, char form) { return form == 'd' ? c >= '0' && c <= '9' : c == form; };
  if (!std::ranges::equal(text, kForm, has_form)) return -1;
  const auto number = [&](size_t at, size_t digits) { return std::stoi(text.substr(at, digits)); };
  const std::chrono::year_month_day day{std::chrono::year(number(0, 4)),
                                        std::chrono::month(static_cast<unsigned>(number(5, 2))),
                                        std::chrono::day(static_cast<unsigned>(number(8, 2)))};
  const int hour = number(11, 2), minute = number(14, 2), second = number(17, 2);
  if (!day.ok() || hour > 23 || minute > 59 || second > 59) return -1;
  const auto days = static_cast<double>(std::chrono::sys_days(day).time_since_epoch().count());
  return days * 86'400 + hour * 3600 + minute * 60 + second + number(20, 6) / 1e6;
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
    std::error_code error;
    if (!std::filesystem::is_regular_file(directory + name, error)) continue;  // a pipe would never end
    std::ifstream file(directory + name, std::ios::binary);
    for (std::string line; std::getline(file, line);) lines.push_back(line);
  }
  return HistoryOf(lines);
}

nlohmann::ordered_json HistoryJson(const History& history) {
  using Json = nlohmann::ordered_json;
  if (history.events == 0) return nullptr;
  const auto seconds = [](uint64_t micros) { return static_cast<double>(micros) / 1e6; };
  Json columns = Json::array(), compactions = Json::array(), causes = Json::object(), notes = Json::array();
  for (const History::Column& each : history.columns) {
    columns.push_back({{"flushed_bytes", each.flushed_bytes},
                       {"compacted_bytes", each.compacted_bytes},
                       {"stall_seconds", seconds(each.stall_micros)}});
  }
  for (const auto& [reason, sum] : history.compactions) {
    compactions.push_back({{"reason", reason},
                           {"rewrites", sum.rewrites},
                           {"moves", sum.moves},
                           {"bytes_read", sum.bytes_read},
                           {"bytes_written", sum.bytes_written},
                           {"entries_dropped", sum.entries_in - std::min(sum.entries_in, sum.entries_out)},
                           {"seconds", seconds(sum.micros)},
                           {"failed", sum.failed}});
  }
  for (const auto& [cause, micros] : history.stall_causes) causes[cause] = seconds(micros);
  for (const History::Note& note : history.notes) notes.push_back({{"time", note.time}, {"text", ToLine(note.text)}});
  return {{"from", history.from},
          {"to", history.to},
          {"flushes", history.flushes},
          {"flushed_bytes", history.flushed_bytes},
          {"stalls", history.stalls},
          {"stall_causes", causes},
          {"slow_calls", history.slow_calls},
          {"longest_call_seconds", seconds(history.longest_call_micros)},
          {"columns", columns},
          {"compactions", compactions},
          {"notes", notes}};
}

}  // namespace mergedb::tool
