#include "inspect_page.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

#include "db/diagnosis.h"
#include "picker/picker.h"
#include "text.h"

namespace mergedb::tool {

namespace {

constexpr const char* kHead = R"html(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>mergedb inspect</title>
<style>
:root{--back:#fff;--text:#1c2430;--soft:#5b6675;--line:#d6dbe2;--card:#f5f7f9;--data:#2f6fb2;--old:#8fb4d8;--dead:#b3441e;
--ok:#2e7d4f;--warn:#a05a00}
@media (prefers-color-scheme:dark){:root{--back:#14181d;--text:#e6eaef;--soft:#9aa6b4;--line:#333c47;--card:#1d232a;
--data:#5b9bdc;--old:#37597a;--dead:#e07a4f;--ok:#6cc08b;--warn:#e0a04a}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1120px;padding:16px;background:var(--back);color:var(--text);
font:15px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
h1{font-size:22px;margin:0 0 4px}h2{font-size:18px;margin:28px 0 6px}
p{margin:6px 0;max-width:80ch}.soft{color:var(--soft)}
.cards{display:flex;flex-wrap:wrap;gap:10px;margin:12px 0}
.card{background:var(--card);border:1px solid var(--line);border-radius:6px;padding:8px 12px;flex:1 1 150px}
.card b{display:block;font-size:19px}
.row{margin:7px 0}.row .name{display:flex;justify-content:space-between;gap:8px;font-size:13px}
.lane{position:relative;height:22px;background:var(--card);border:1px solid var(--line);border-radius:3px;overflow:hidden}
.lane i{position:absolute;top:0;bottom:0;background:var(--data);border-right:1px solid var(--back)}
.lane i u{position:absolute;left:0;right:0;bottom:0;background:var(--dead)}
.axis{display:flex;justify-content:space-between;gap:6px;font:12px ui-monospace,monospace;color:var(--soft)}
.axis span{max-width:45%}
.bar{display:flex;height:22px;border-radius:3px;overflow:hidden;border:1px solid var(--line)}
.bar i{display:block;height:100%}
.key{display:inline-block;width:11px;height:11px;border-radius:2px;margin:0 4px 0 12px;vertical-align:-1px}
.limit{border-left:4px solid var(--warn);padding:4px 10px;margin:8px 0}.fine{border-color:var(--ok)}
.scroll{overflow-x:auto}table{border-collapse:collapse;font-size:14px;min-width:520px}
td,th{text-align:right;padding:3px 10px;border-bottom:1px solid var(--line);white-space:nowrap}
td:first-child,th:first-child{text-align:left;padding-left:0}
</style></head><body>
)html";

__attribute__((format(printf, 1, 2))) std::string Print2(const char* format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return text;
}

std::string Html(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

std::string Key(std::string_view key) {
  constexpr size_t kBytesMax = 28;
  std::string text = ToText(key.substr(0, kBytesMax));
  return Html(key.size() > kBytesMax ? text + "..." : text);
}

double Share(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::string Count(uint64_t count, const char* one, const char* many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

std::string Card(const std::string& value, const std::string& name) {
  return "<div class=card><b>" + Html(value) + "</b><span class=soft>" + Html(name) + "</span></div>";
}

// ---- the parts of the page ----------------------------------------------------------------------------------------

std::string Summary(const InspectPage& page) {
  const version::Version& version = page.version;
  std::string out = "<h1>" + Html(ToText(page.directory)) + "</h1><p>A mergedb database. It takes " +
                    PrintBytes(page.disk_bytes) + " on the disk, in " + Count(page.disk_files, "file", "files") + ". ";
  if (version.runs().empty()) {
    return out + "It has no sorted run yet: what was written is in the write-ahead log and in memory.</p>";
  }
  out += "Its tables hold " + Count(version.entries(), "entry", "entries") +
         ". An entry is one version of a key, or a "
         "mark (tombstone) that the key was deleted.</p><div class=cards>";
  out += Card(std::to_string(version.runs().size()), "sorted runs: a read may have to look into each of them");
  out += Card(PrintBytes(version.bytes()), "in " + Count(version.file_count(), "table", "tables"));
  out += Card(Print2("%.1f %%", 100 * Share(version.tombstones(), version.entries())), "of the entries are tombstones");
  if (!version.blob_files().empty()) {
    out += Card(PrintBytes(version.record_bytes()),
                "of large values, in " + Count(version.blob_files().size(), "blob file", "blob files"));
    out += Card(Print2("%.0f %%", 100 * Share(version.garbage_bytes(), version.record_bytes())),
                "of the large values' bytes are garbage");
  }
  return out + "</div>";
}

std::string Explanation() {
  return "<h2>How such a database works</h2>"
         "<p>New writes go to a log and to memory. When the memory is full, its entries are written to the disk in key "
         "order: a new <b>sorted run</b>, made of <b>tables</b>. A run never changes. If a key is written again, the "
         "newer run has the newer version, and the old one stays on the disk below it. So reads look into the newest "
         "run "
         "first. In the background, <b>compactions</b> combine several runs into one, and drop old versions and "
         "deleted "
         "keys on the way. Fewer runs make reads faster; each compaction costs writing.</p>";
}

std::string Lane(const InspectPage& page, const KeyScale& scale, const version::Run& run) {
  constexpr double kNarrow = 0.0015;  // of the width; narrower tables become one rectangle
  std::string out = "<div class=lane>";
  double from = 0, to = -1;
  version::Weight weight;
  std::string title;
  const auto end_rectangle = [&] {
    if (to < from) return;
    const double width = std::max(to - from, 0.002);
    out += Print2("<i style=\"left:%.3f%%;width:%.3f%%\" title=\"", 100 * std::min(from, 0.998), 100 * width) + title +
           "\"><u style=\"height:" + Print2("%.0f%%", 100 * Share(weight.tombstones, weight.entries)) + "\"></u></i>";
    to = -1;
    weight = {};
  };
  for (const version::VirtualTable& table : run.virtual_tables()) {
    const double first = scale.At(table.smallest()), last = scale.At(table.largest());
    if (to >= from && (to - from > kNarrow || first - to > kNarrow)) end_rectangle();
    if (to < from) from = first;
    to = std::max(last, from);
    weight.Add(*table.file);
    title = "table " + std::to_string(kv::ToInt(table.file->number)) + ": " + PrintBytes(weight.bytes) + ", " +
            Count(weight.entries, "entry", "entries") + ", " + Count(weight.tombstones, "tombstone", "tombstones") +
            ", up to " + Key(table.largest());
  }
  end_rectangle();
  (void)page;
  return out + "</div>";
}

std::string Map(const InspectPage& page) {
  const auto& runs = page.version.runs();
  if (runs.empty()) return "";
  const KeyScale scale(page.version, page.order);
  std::string out =
      "<h2>The sorted runs over the keys</h2><p>From left to right: the keys in their order, from the smallest to the "
      "largest. From top to bottom: the runs, the newest first. A blue piece goes from the smallest to the largest key "
      "of "
      "neighbouring tables. Its width says which keys they span, not how many they hold: the figures above it say "
      "that. "
      "Where it is grey, the run has no keys. A read of a key looks from the top down into the runs that are blue "
      "there, "
      "until it finds the key; filters spare it most of the others.<br><span class=key "
      "style=\"background:var(--data);margin-left:0\"></span>entries"
      "<span class=key style=\"background:var(--dead)\"></span>share of tombstones</p>";
  // Of many runs, the newest and the oldest.
  constexpr size_t kNewest = 12, kOldest = 12;
  size_t number = 0;
  for (const version::RunPtr& run : runs) {
    ++number;
    if (number > kNewest && number + kOldest <= runs.size()) {
      if (number == kNewest + 1)
        out += "<p class=soft>" + std::to_string(runs.size() - kNewest - kOldest) +
               " runs between these are not drawn; the table below has them.</p>";
      continue;
    }
    const char* const place = runs.size() == 1        ? " (the only one)"
                              : number == 1           ? " (the newest)"
                              : number == runs.size() ? " (the oldest, most data comes to rest here)"
                                                      : "";
    out += "<div class=row><div class=name><span>run " + std::to_string(number) + place + "</span><span class=soft>" +
           PrintBytes(run->bytes_with_values()) + ", " + Count(run->entries(), "entry", "entries") + "</span></div>" +
           Lane(page, scale, *run) + "</div>";
  }
  out += "<div class=axis>";
  for (const double place : {0.0, 1.0}) out += "<span>" + Key(scale.KeyAt(place)) + "</span>";
  return out + "</div>";
}

std::string Piece(double share, const char* color) {
  return Print2("<i style=\"width:%.2f%%;background:var(--%s)\"></i>", 100 * share, color);
}

std::string BlobFiles(const InspectPage& page) {
  const version::Version& version = page.version;
  if (version.blob_files().empty()) return "";
  std::string out =
      "<h2>Large values</h2><p>Values above a certain size are in blob files, and the tables only refer to them. When "
      "such "
      "a value is overwritten or deleted, its bytes stay as <b>garbage</b> until the blob file is collected: its other "
      "values move to a new file. " +
      PrintBytes(version.value_bytes()) + " are in use, " + PrintBytes(version.garbage_bytes()) +
      " are garbage.<br><span class=key style=\"background:var(--data);margin-left:0\"></span>in use"
      "<span class=key style=\"background:var(--dead)\"></span>garbage</p>";
  constexpr size_t kShown = 20;
  std::vector<version::BlobFile> files = version.blob_files();
  std::ranges::sort(files, std::ranges::greater(), &version::BlobFile::garbage_bytes);
  uint64_t largest = 1;
  for (const version::BlobFile& each : files) largest = std::max(largest, each.file->record_bytes);
  for (size_t i = 0; i < std::min(kShown, files.size()); ++i) {
    const version::BlobFile& each = files[i];
    out += "<div class=row><div class=name><span>blob file " + std::to_string(kv::ToInt(each.file->number)) +
           "</span><span class=soft>" + PrintBytes(each.live_bytes) + " in use, " + PrintBytes(each.garbage_bytes()) +
           " garbage</span></div><div class=bar>" + Piece(Share(each.live_bytes, largest), "data") +
           Piece(Share(each.garbage_bytes(), largest), "dead") + "</div></div>";
  }
  if (files.size() > kShown)
    out += "<p class=soft>" + std::to_string(files.size() - kShown) + " more blob files have less garbage.</p>";
  return out;
}

const char* Explain(picker::CompactionReason reason) {
  switch (reason) {
    case picker::CompactionReason::kTierFull: return "enough new runs have gathered; together they become one";
    case picker::CompactionReason::kSpace:
      return "the newer runs hold so much that old versions below them take too much disk space";
    case picker::CompactionReason::kAdjacentFull: return "four neighbouring levels are full; they become one";
    case picker::CompactionReason::kPrefix: return "the full levels go into the first one that has room";
    case picker::CompactionReason::kIdle: return "nobody writes, so there is time to make fewer runs for faster reads";
    case picker::CompactionReason::kManual: return "a program asked for it";
    case picker::CompactionReason::kTombstones: return "tombstones are most of a part of the oldest run";
    case picker::CompactionReason::kTombstoneScan: return "a scan passed over many deleted keys";
    case picker::CompactionReason::kDisjoint:
      return "the runs have no common range of keys: tables only change their run, and nothing is rewritten";
    case picker::CompactionReason::kBlobGarbage: return "blob files hold too much garbage";
    case picker::CompactionReason::kSmallBlobs: return "many small blob files become one";
    case picker::CompactionReason::kBlobOrder:
      return "scans read many values one by one; the values come into key order";
    case picker::CompactionReason::kReads: return "searches had to look into many runs; fewer runs make them faster";
  }
  return "";
}

std::string PickText(const InspectPage& page, picker::Urgency urgency) {
  const auto pick = picker::Pick({.version = page.version,
                                  .running = {},
                                  .style = page.style,
                                  .urgency = urgency,
                                  .flush_bytes = 0,
                                  .flushed_bytes = 0,
                                  .live_bytes_known = 0,
                                  .order = page.order});
  if (!pick) return "No compaction is needed.";
  const auto& runs = page.version.runs();
  const auto newest =
      std::ranges::find_if(runs, [&](const auto& run) { return run->position() == pick->sources.front(); });
  const auto first = static_cast<size_t>(newest - runs.begin()) + 1, last = first + pick->sources.size() - 1;
  std::string text = pick->sources.size() == 1 ? "Run " + std::to_string(first)
                                               : "Runs " + std::to_string(first) + " to " + std::to_string(last);
  const bool is_part = pick->bounds.lower.has_value() || pick->bounds.upper.has_value();
  if (is_part) {
    text += ", but only keys " + (pick->bounds.lower ? "from " + Key(*pick->bounds.lower) + " " : std::string()) +
            (pick->bounds.upper ? "up to " + Key(*pick->bounds.upper) : std::string("to the end"));
  }
  text += ": " + PrintBytes(pick->input_bytes) + " would be read. The reason: " + Explain(pick->reason) + ".";
  if (!pick->blob_files_to_collect.empty())
    text += " It would also collect " + Count(pick->blob_files_to_collect.size(), "blob file", "blob files") + ".";
  return text;
}

std::string NextCompactions(const InspectPage& page) {
  std::string out = std::string(
                        "<h2>What would be compacted next, and why</h2><p class=soft>Computed from this state, for "
                        "the compaction style &quot;") +
                    (page.style == Style::kLazy ? "lazy" : "cascade") + "&quot;.</p>";
  const std::pair<const char*, picker::Urgency> kCases[] = {
      {"While writes come", picker::Urgency::kWriting},
      {"One second after the last write", picker::Urgency::kQuiet},
      {"Five seconds after it", picker::Urgency::kIdle}};
  for (const auto& [name, urgency] : kCases)
    out += std::string("<p><b>") + name + ".</b> " + PickText(page, urgency) + "</p>";
  return out;
}

std::string Limits(const InspectPage& page) {
  if (!page.live) {
    return "<h2>What it does now</h2><p>No process has the database open for writes, so nothing changes until one "
           "opens "
           "it.</p>";
  }
  std::string out = "<h2>What it does now</h2><p>" + Html(ToLine(page.live->Describe())) + ".</p>";
  const auto findings = db::Diagnose(page.live->state());
  if (findings.empty()) out += "<p class=\"limit fine\">Nothing limits the database.</p>";
  for (const db::Finding& finding : findings)
    out += "<p class=limit>" + Html(ToLine(finding.text)) + "<br><b>To change it:</b> " + Html(finding.advice) + "</p>";
  for (const format::LiveCompaction& each : page.live->state().compactions) {
    out += "<div class=row><div class=name><span>a compaction runs (" + Html(ToLine(each.reason)) + ", " +
           Count(each.runs, "run", "runs") + ", " + PrintBytes(each.input_bytes) + ")</span><span class=soft>" +
           Print2("%.0f %%", 100 * std::min(1.0, Share(each.entries_read, each.entries))) +
           "</span></div><div class=bar>" + Piece(std::min(1.0, Share(each.entries_read, each.entries)), "ok") +
           "</div></div>";
  }
  return out;
}

std::string RunTable(const InspectPage& page) {
  if (page.version.runs().empty()) return "";
  std::string out =
      "<h2>The runs in figures</h2><div class=scroll><table><tr><th>run</th><th>level</th><th>tables</th><th>tables' "
      "bytes</th><th>large values</th><th>entries</th><th>tombstones</th></tr>";
  size_t number = 0;
  for (const version::RunPtr& run : page.version.runs()) {
    out += "<tr><td>" + std::to_string(++number) + "</td><td>" + std::to_string(run->level()) + "</td><td>" +
           std::to_string(run->virtual_tables().size()) + "</td><td>" + PrintBytes(run->bytes()) + "</td><td>" +
           PrintBytes(run->value_bytes()) + "</td><td>" + std::to_string(run->entries()) + "</td><td>" +
           std::to_string(run->tombstones()) + "</td></tr>";
  }
  return out + "</table></div>";
}

}  // namespace

KeyScale::KeyScale(const version::Version& version, const kv::Order& order) : order_(order) {
  for (const version::RunPtr& run : version.runs()) {
    for (const version::VirtualTable& table : run->virtual_tables()) {
      keys_.push_back(table.smallest());
      keys_.push_back(table.largest());
    }
  }
  std::ranges::sort(keys_, [&](std::string_view a, std::string_view b) { return order_.CompareKeys(a, b) < 0; });
  const auto same =
      std::ranges::unique(keys_, [&](std::string_view a, std::string_view b) { return order_.SameKey(a, b); });
  keys_.erase(same.begin(), same.end());
  // The bytes of each interval between two keys: a table gives each of its intervals an equal share.
  std::vector<double> changes(keys_.size() + 1, 0.0);
  const auto index = [&](std::string_view key) {
    return static_cast<size_t>(
        std::ranges::lower_bound(keys_, key,
                                 [&](std::string_view a, std::string_view b) { return order_.CompareKeys(a, b) < 0; }) -
        keys_.begin());
  };
  for (const version::RunPtr& run : version.runs()) {
    for (const version::VirtualTable& table : run->virtual_tables()) {
      const size_t first = index(table.smallest()), last = index(table.largest());
      if (last <= first) continue;
      const double each =
          static_cast<double>(table.file->bytes + table.file->value_bytes()) / static_cast<double>(last - first);
      changes[first] += each;
      changes[last] -= each;
    }
  }
  double at = 0, now = 0;
  for (size_t i = 0; i < keys_.size(); ++i) {
    places_.push_back(at);
    now += changes[i];
    at += std::max(now, 0.0) + 1e-9;  // WHY more than 0: keys between tables keep their order
  }
  const double all = places_.empty() || places_.back() <= 0 ? 1.0 : places_.back();
  for (double& place : places_) place /= all;
}

double KeyScale::At(std::string_view key) const {
  const auto found = std::ranges::lower_bound(
      keys_, key, [&](std::string_view a, std::string_view b) { return order_.CompareKeys(a, b) < 0; });
  return found == keys_.end() ? 1.0 : places_[static_cast<size_t>(found - keys_.begin())];
}

std::string KeyScale::KeyAt(double place) const {
  if (keys_.empty()) return "";
  const auto found = std::ranges::lower_bound(places_, place);
  return std::string(found == places_.end() ? keys_.back() : keys_[static_cast<size_t>(found - places_.begin())]);
}

std::string PrintPage(const InspectPage& page) {
  return kHead + Summary(page) + Explanation() + Limits(page) + NextCompactions(page) + Map(page) + BlobFiles(page) +
         RunTable(page) + "<p class=soft>Made by mergedb inspect.</p></body></html>\n";
}

}  // namespace mergedb::tool
