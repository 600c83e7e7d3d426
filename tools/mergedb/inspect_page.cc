#include "inspect_page.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "db/observe/diagnosis.h"
#include "inspect_asset.h"
#include "inspect_heat.h"
#include "key_scale.h"
#include "picker/picker.h"
#include "text.h"

namespace mergedb::tool {

namespace {

using Json = nlohmann::ordered_json;

std::string Key(std::string_view key) {
  constexpr size_t kBytesMax = 28;
  return ToText(key.substr(0, kBytesMax)) + (key.size() > kBytesMax ? "..." : "");
}

double Rounded(double share) { return std::round(share * 1e5) / 1e5; }

// ---- the sorted runs

// The rectangles of a run along the keys, one for each table or for several narrow ones.
Json PiecesOf(const KeyScale& scale, const version::Run& run) {
  constexpr double kNarrow = 0.0015;  // of the width; narrower tables become one rectangle
  constexpr double kWidthMin = 0.002;
  Json pieces = Json::array();
  double from = 0, to = -1;
  version::Weight weight;
  const version::VirtualTable* last_table = nullptr;
  const auto end_piece = [&] {
    if (to < from) return;
    pieces.push_back({{"left", Rounded(std::min(from, 1 - kWidthMin))},
                      {"width", Rounded(std::max(to - from, kWidthMin))},
                      {"table", kv::ToInt(last_table->file->number)},
                      {"largest", Key(last_table->largest())},
                      {"bytes", weight.bytes + weight.value_bytes},
                      {"entries", weight.entries},
                      {"tombstones", weight.tombstones}});
    to = -1;
    weight = {};
  };
  for (const version::VirtualTable& table : run.virtual_tables()) {
    const double first = scale.At(table.smallest()), last = scale.At(table.largest());
    if (to >= from && (to - from > kNarrow || first - to > kNarrow)) end_piece();
    if (to < from) from = first;
    to = std::max(last, from);
    weight.Add(*table.file);
    last_table = &table;
  }
  end_piece();
  return pieces;
}

// In how many runs a read of a key may have to look, along the keys.
std::vector<size_t> Overlap(const InspectPage& page, const KeyScale& scale) {
  constexpr size_t kColumns = 96;
  std::vector<size_t> counts(kColumns, 0);
  for (const version::RunPtr& run : page.version.runs()) {
    std::vector<bool> is_there(kColumns, false);
    for (const version::VirtualTable& table : run->virtual_tables()) {
      const auto column = [&](std::string_view key) {
        return std::min(kColumns - 1, static_cast<size_t>(scale.At(key) * kColumns));
      };
      for (size_t i = column(table.smallest()); i <= column(table.largest()); ++i) is_there[i] = true;
    }
    for (size_t i = 0; i < kColumns; ++i) counts[i] += is_there[i] ? 1 : 0;
  }
  return counts;
}

// ---- the next compactions

// The first compaction that the tree asks for: while writes come, or later. nullopt: none.
std::optional<picker::CompactionPick> PickFor(const InspectPage& page, picker::Urgency urgency) {
  return picker::Pick({.version = page.version,
                       .running = {},
                       .style = page.style,
                       .urgency = urgency,
                       .flush_bytes = 0,
                       .flushed_bytes = 0,
                       .live_bytes_known = 0,
                       .order = page.order});
}

Json PickJson(const InspectPage& page, const std::optional<picker::CompactionPick>& pick) {
  if (!pick) return nullptr;
  Json json = {{"reason", picker::CompactionReasonName(pick->reason)},
               {"input_bytes", pick->input_bytes},
               {"is_move", pick->is_move},
               {"blob_files", pick->blob_files_to_collect.size()}};
  if (pick->sources.empty()) return json;
  const auto newest = std::ranges::find(page.version.runs(), pick->sources.front(),
                                        [](const version::RunPtr& run) { return run->position(); });
  const auto first = static_cast<size_t>(newest - page.version.runs().begin()) + 1;
  json["first"] = first;
  json["last"] = first + pick->sources.size() - 1;
  if (pick->bounds.lower) json["lower"] = Key(*pick->bounds.lower);
  if (pick->bounds.upper) json["upper"] = Key(*pick->bounds.upper);
  return json;
}

// ---- what the process does that has the database open

Json LiveJson(const LiveView& live) {
  const auto rate = [&](std::string_view name) { return static_cast<uint64_t>(live.Rate(name) + 0.5); };
  Json findings = Json::array(), compactions = Json::array();
  for (const db::Finding& finding : db::Diagnose(live.state()))
    findings.push_back({{"text", ToLine(finding.text)}, {"advice", finding.advice}});
  for (const format::LiveCompaction& each : live.state().compactions) {
    compactions.push_back({{"reason", ToLine(each.reason)},
                           {"runs", each.runs},
                           {"input_bytes", each.input_bytes},
                           {"done", Rounded(std::min(1.0, Share(each.entries_read, each.entries)))}});
  }
  return {{"process", ToLine(live.Describe())},
          {"has_ended", live.has_ended()},
          {"writes", rate("writes")},
          {"flush_bytes", rate("flush_bytes")},
          {"compaction_bytes", rate("compaction_bytes_written")},
          {"findings", findings},
          {"compactions", compactions}};
}

// ---- all of it

void SetTotals(const version::Version& version, Json* data) {
  (*data)["tree_bytes"] = version.bytes() + version.value_bytes();
  (*data)["table_bytes"] = version.bytes();
  (*data)["tables"] = version.file_count();
  (*data)["entries"] = version.entries();
  (*data)["tombstones"] = version.tombstones();
  (*data)["range_deletes"] = version.range_tombstones();
  (*data)["value_bytes"] = version.value_bytes();
  (*data)["record_bytes"] = version.record_bytes();
  (*data)["garbage_bytes"] = version.garbage_bytes();
  (*data)["blob_files"] = Json::array();
  for (const version::BlobFile& each : version.blob_files()) {
    (*data)["blob_files"].push_back({{"number", kv::ToInt(each.file->number)},
                                     {"record_bytes", each.file->record_bytes},
                                     {"live_bytes", each.live_bytes},
                                     {"garbage_bytes", each.garbage_bytes()}});
  }
}

void SetPicksAndRuns(const InspectPage& page, const KeyScale& scale, Json* data) {
  std::optional<picker::CompactionPick> next;
  (*data)["picks"] = Json::array();
  for (const picker::Urgency urgency : {picker::Urgency::kWriting, picker::Urgency::kQuiet, picker::Urgency::kIdle}) {
    const auto pick = PickFor(page, urgency);
    (*data)["picks"].push_back(PickJson(page, pick));
    if (!next) next = pick;
  }
  (*data)["runs"] = Json::array();
  for (const version::RunPtr& run : page.version.runs()) {
    (*data)["runs"].push_back(
        {{"level", run->level()},
         {"is_next", next && std::ranges::find(next->sources, run->position()) != next->sources.end()},
         {"tables", run->virtual_tables().size()},
         {"bytes", run->bytes()},
         {"value_bytes", run->value_bytes()},
         {"entries", run->entries()},
         {"tombstones", run->tombstones()},
         {"range_deletes", run->range_tombstones()},
         {"pieces", PiecesOf(scale, *run)}});
  }
}

Json DataOf(const InspectPage& page) {
  constexpr int kLabels = 4;
  const KeyScale scale(page.version, page.order);
  Json data = {{"directory", ToText(page.directory)},
               {"disk_bytes", page.disk_bytes},
               {"disk_files", page.disk_files},
               {"style", page.style == Style::kLazy ? "lazy" : "cascade"}};
  SetTotals(page.version, &data);
  SetPicksAndRuns(page, scale, &data);
  data["overlap"] = Overlap(page, scale);
  for (int i = 0; i < kLabels; ++i) data["keys"].push_back(Key(scale.KeyAt(static_cast<double>(i) / kLabels)));
  data["largest_key"] = Key(scale.KeyAt(1));
  data["live"] = page.live ? LiveJson(*page.live) : Json();
  data["heat"] = page.live ? HeatJson(page.live->state(), scale) : Json();
  data["history"] = HistoryJson(page.history);
  return data;
}

}  // namespace

std::string PrintPage(const InspectPage& page) {
  constexpr std::string_view kMark = "@data@";
  const std::string_view asset = kInspectAsset;
  const size_t mark = asset.find(kMark);
  std::string out(asset.substr(0, mark));
  for (const char c : DataOf(page).dump(-1, ' ', true, Json::error_handler_t::replace))
    c == '<' ? out += "\\u003c" : out += c;
  return out.append(asset.substr(mark + kMark.size()));
}

}  // namespace mergedb::tool
