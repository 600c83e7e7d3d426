#include "inspect_page.h"

#include <algorithm>
#include <cstdint>
#include <span>

#include "db/observe/diagnosis.h"
#include "inspect_heat.h"
#include "page_text.h"
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
h1{font-size:22px;margin:0 0 4px}h2{font-size:18px;margin:28px 0 6px}h3{font-size:15px;margin:14px 0 2px}
p{margin:6px 0;max-width:80ch}.soft{color:var(--soft)}
.cards{display:flex;flex-wrap:wrap;gap:10px;margin:12px 0}
.card{background:var(--card);border:1px solid var(--line);border-radius:6px;padding:8px 12px;flex:1 1 150px}
.card b{display:block;font-size:19px}
.row{margin:7px 0}.row .name{display:flex;justify-content:space-between;gap:8px;font-size:13px}
.lane{position:relative;height:20px;background:var(--card);border:1px solid var(--line);border-radius:3px;overflow:hidden}
.lane i{position:absolute;top:0;bottom:0}.lane i::before{content:"";position:absolute;inset:0;background:var(--data)}
.d1::before{opacity:.3}.d2::before{opacity:.55}.d3::before{opacity:.8}
.thin{margin:1px 0}.thin .lane{height:7px;border:0;border-radius:0}.next .lane{box-shadow:-7px 0 0 var(--ok);overflow:visible}
.columns{display:flex;align-items:flex-end;height:70px;border-bottom:1px solid var(--line);gap:1px;margin:2px 0 6px}
.columns.low{height:34px}.columns i{flex:1;height:100%;display:flex;flex-direction:column;justify-content:flex-end}
.columns b{display:block;background:var(--data)}.columns u{display:block;background:var(--old)}.columns s{display:block;background:var(--dead)}
.keys{position:relative;height:18px;font:12px ui-monospace,monospace;color:var(--soft);border-bottom:1px solid var(--line)}
.keys span{position:absolute;border-left:1px solid var(--line);padding-left:3px;max-width:24%;overflow:hidden;white-space:nowrap;
text-overflow:ellipsis}.name{display:flex;justify-content:space-between;gap:8px;font-size:13px}
td:first-child{white-space:normal}.notes{min-width:0;margin-top:10px}.notes td,.notes th{text-align:left;white-space:normal}
@media(max-width:640px){.keys span{max-width:49%}.keys .odd{display:none}}
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

std::string Key(std::string_view key) {
  constexpr size_t kBytesMax = 28;
  std::string text = ToText(key.substr(0, kBytesMax));
  return Html(key.size() > kBytesMax ? text + "..." : text);
}

std::string Card(const std::string& value, const std::string& name) {
  return "<div class=card><b>" + Html(value) + "</b><span class=soft>" + Html(name) + "</span></div>";
}

// ---- the parts of the page ----------------------------------------------------------------------------------------

std::string Summary(const InspectPage& page) {
  const version::Version& version = page.version;
  std::string out =
      "<h1>" + Html(ToText(page.directory)) + "</h1><p>A mergedb database. It takes " + PrintBytes(page.disk_bytes) +
      " on the disk, in " + Count(page.disk_files, "file", "files") +
      ". The files are tables, which hold the entries; blob files, which hold large values; the write-ahead "
      "log (WAL), which holds the newest writes until they are in tables; and small files, such as MANIFEST, "
      "the list of the tables.</p><p>";
  if (version.runs().empty()) {
    return out + "It has no sorted run yet: what was written is in the write-ahead log and in memory.</p>";
  }
  out += "Its tables hold " + Count(version.entries(), "entry", "entries") +
         ". An entry is one version of a key, or a "
         "mark (tombstone) that the key was deleted.</p><div class=cards>";
  out += Card(Thousands(version.runs().size()), "sorted runs: a read may have to look into each of them");
  out += Card(PrintBytes(version.bytes()), "in " + Count(version.file_count(), "table", "tables"));
  out += Card(Format("%.1f %%", 100 * Share(version.tombstones(), version.entries())), "of the entries are tombstones");
  if (version.range_tombstones() > 0)
    out += Card(Thousands(version.range_tombstones()), "range deletes: each marks all keys of a range as deleted");
  if (!version.blob_files().empty()) {
    out += Card(PrintBytes(version.record_bytes()),
                "of large values, in " + Count(version.blob_files().size(), "blob file", "blob files"));
    out += Card(Format("%.0f %%", 100 * Share(version.garbage_bytes(), version.record_bytes())),
                "of the large values' bytes are garbage");
  }
  return out + "</div>";
}

std::string Explanation() {
  return "<h2>How such a database works</h2>"
         "<p>New writes go to the write-ahead log and to memory. When the memory is full, its entries are written to "
         "the disk in key "
         "order: a new <b>sorted run</b>, made of <b>tables</b>. A run never changes. If a key is written again, the "
         "newer run has the newer version, and the old one stays on the disk below it. So reads look into the newest "
         "run "
         "first. In the background, <b>compactions</b> combine several runs into one, and drop old versions and "
         "deleted "
         "keys on the way. Fewer runs make reads faster; each compaction costs writing.</p>";
}

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

// How dark a piece is: its bytes for its width, beside the mean of the tree. 1 is the palest.
int Darkness(uint64_t bytes, double width, uint64_t tree_bytes) {
  const double density = Share(bytes, tree_bytes) / std::max(width, 0.002);
  return density < 0.02 ? 1 : density < 0.1 ? 2 : density < 0.4 ? 3 : 4;
}

std::string Lane(const KeyScale& scale, const version::Run& run, size_t number, uint64_t tree_bytes) {
  constexpr double kNarrow = 0.0015;  // of the width; narrower tables become one rectangle
  std::string out = "<div class=lane>";
  double from = 0, to = -1;
  version::Weight weight;
  std::string title;
  const auto end_rectangle = [&] {
    if (to < from) return;
    const double width = std::max(to - from, 0.002);
    out += Format("<i class=d%d style=\"left:%.3f%%;width:%.3f%%\" title=\"",
                  Darkness(weight.bytes + weight.value_bytes, width, tree_bytes), 100 * std::min(from, 0.998),
                  100 * width) +
           title + "\"><u style=\"height:" + Format("%.0f%%", 100 * Share(weight.tombstones, weight.entries)) +
           "\"></u></i>";
    to = -1;
    weight = {};
  };
  for (const version::VirtualTable& table : run.virtual_tables()) {
    const double first = scale.At(table.smallest()), last = scale.At(table.largest());
    if (to >= from && (to - from > kNarrow || first - to > kNarrow)) end_rectangle();
    if (to < from) from = first;
    to = std::max(last, from);
    weight.Add(*table.file);
    title = "run " + std::to_string(number) + ", table " + std::to_string(kv::ToInt(table.file->number)) + ": " +
            PrintBytes(weight.bytes + weight.value_bytes) + ", " + Count(weight.entries, "entry", "entries") + ", " +
            Count(weight.tombstones, "tombstone", "tombstones") + ", up to " + Key(table.largest());
  }
  end_rectangle();
  return out + "</div>";
}

std::string Keys(const KeyScale& scale) {
  constexpr int kLabels = 4;
  std::string out = "<div class=keys>";
  for (int i = 0; i < kLabels; ++i) {
    const double place = static_cast<double>(i) / kLabels;
    out += std::string("<span") + (i % 2 == 1 ? " class=odd" : "") + Format(" style=\"left:%.1f%%\">", 100 * place) +
           Key(scale.KeyAt(place)) + "</span>";
  }
  return out + "</div>";
}

// In how many runs a read of a key may have to look, along the keys.
std::string Overlap(const InspectPage& page, const KeyScale& scale) {
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
  const size_t most = std::max<size_t>(1, *std::ranges::max_element(counts));
  std::string out = "<div class=name><span>Runs that have a key here; highest column " + std::to_string(most) +
                    "</span></div><div class=\"columns low\">";
  for (const size_t count : counts)
    out += "<i title=\"" + Count(count, "run", "runs") +
           "\"><u style=\"height:" + Format("%.1f", 100 * Share(count, most)) + "%\"></u></i>";
  return out + "</div>";
}

std::string RunCaption(const version::Run& run, size_t number, size_t count) {
  const char* const place = count == 1        ? " (the only one)"
                            : number == 1     ? " (the newest)"
                            : number == count ? " (the oldest, most data comes to rest here)"
                                              : "";
  std::string out = "<div class=name><span>run " + std::to_string(number) + place + "</span><span class=soft>" +
                    PrintBytes(run.bytes_with_values()) + ", " + Count(run.entries(), "entry", "entries");
  if (run.range_tombstones() > 0) out += ", " + Count(run.range_tombstones(), "range delete", "range deletes");
  return out + "</span></div>";
}

// The runs [first, last) of one level as thin lanes under one caption.
std::string ThinRuns(const InspectPage& page, const KeyScale& scale, size_t first, size_t last,
                     const std::vector<bool>& is_next) {
  constexpr size_t kLanesMax = 80;
  const auto& runs = page.version.runs();
  uint64_t bytes = 0, entries = 0;
  for (size_t i = first; i < last; ++i) {
    bytes += runs[i]->bytes_with_values();
    entries += runs[i]->entries();
  }
  std::string out = "<div class=row><div class=name><span>runs " + std::to_string(first + 1) +
                    (first == 0 ? " (the newest) to " : " to ") + std::to_string(last) +
                    (runs[first]->level() == 0 ? ": as they came from memory" : ": made by compactions") +
                    "</span><span class=soft>" + PrintBytes(bytes) + ", " + Count(entries, "entry", "entries") +
                    "</span></div></div>";
  for (size_t i = first; i < std::min(last, first + kLanesMax); ++i)
    out += std::string("<div class=\"thin") + (is_next[i] ? " next" : "") + "\">" +
           Lane(scale, *runs[i], i + 1, page.version.bytes() + page.version.value_bytes()) + "</div>";
  if (last - first > kLanesMax)
    out +=
        "<p class=soft>" + Thousands(last - first - kLanesMax) + " more are not drawn; the table below has them.</p>";
  return out;
}

std::string Map(const InspectPage& page) {
  const auto& runs = page.version.runs();
  if (runs.empty()) return "";
  constexpr size_t kThickMax = 6;  // more runs of one level are thin lanes
  const KeyScale scale(page.version, page.order);
  std::vector<bool> is_next(runs.size(), false);
  for (const picker::Urgency urgency : {picker::Urgency::kWriting, picker::Urgency::kQuiet, picker::Urgency::kIdle}) {
    const auto pick = PickFor(page, urgency);
    if (!pick) continue;
    for (size_t i = 0; i < runs.size(); ++i)
      is_next[i] = std::ranges::find(pick->sources, runs[i]->position()) != pick->sources.end();
    break;
  }
  std::string out =
      "<h2>The sorted runs over the keys</h2><p>Across: all keys in their order; a part of the keys with much data is "
      "wide. Down: the runs, the newest first. A bar shows which keys neighbouring tables of a run span, from their "
      "smallest to their largest key. A strong colour means much data in these keys, a faint one little: the run spans "
      "them and holds few of them. Where there is no bar, the run has no key. A read of a key looks from the top down "
      "into the "
      "runs with a bar there, until it finds the key; filters spare it most of the others.</p><p>"
      "<span class=key style=\"background:var(--data);margin-left:0\"></span>much data<span class=key "
      "style=\"background:var(--data);opacity:.3\"></span>little data<span class=key style=\"background:var(--dead)\">"
      "</span>share of tombstones<span class=key style=\"background:var(--ok)\"></span>at the left: compacted "
      "next</p>" +
      PrintHeat(page, scale) + Overlap(page, scale) + Keys(scale);
  for (size_t first = 0, last = 0; first < runs.size(); first = last) {
    while (last < runs.size() && runs[last]->level() == runs[first]->level()) ++last;
    if (last - first > kThickMax) {
      out += ThinRuns(page, scale, first, last, is_next);
      continue;
    }
    for (size_t i = first; i < last; ++i)
      out += std::string("<div class=\"row") + (is_next[i] ? " next" : "") + "\">" +
             RunCaption(*runs[i], i + 1, runs.size()) +
             Lane(scale, *runs[i], i + 1, page.version.bytes() + page.version.value_bytes()) + "</div>";
  }
  return out + Keys(scale) + "<div class=axis><span></span><span>the largest key: " + Key(scale.KeyAt(1)) +
         "</span></div>";
}

std::string Piece(double share, const char* color) {
  return Format("<i style=\"width:%.2f%%;background:var(--%s)\"></i>", 100 * share, color);
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

// Of the name of a reason, as LOG has it.
std::string ExplainName(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(picker::CompactionReason::kReads); ++i) {
    const auto reason = static_cast<picker::CompactionReason>(i);
    if (picker::CompactionReasonName(reason) == name) return Explain(reason);
  }
  return std::string(name);
}

std::string PickText(const InspectPage& page, picker::Urgency urgency) {
  const auto pick = PickFor(page, urgency);
  if (!pick) return "No compaction is needed.";
  const auto& runs = page.version.runs();
  std::string text;
  if (!pick->sources.empty()) {
    const auto newest =
        std::ranges::find_if(runs, [&](const auto& run) { return run->position() == pick->sources.front(); });
    const auto first = static_cast<size_t>(newest - runs.begin()) + 1, last = first + pick->sources.size() - 1;
    text = first == last ? "Run " + std::to_string(first)
                         : "Runs " + std::to_string(first) + " to " + std::to_string(last);
    if (pick->bounds.lower.has_value() || pick->bounds.upper.has_value()) {
      text += ", but only keys " + (pick->bounds.lower ? "from " + Key(*pick->bounds.lower) + " " : std::string()) +
              (pick->bounds.upper ? "up to " + Key(*pick->bounds.upper) : std::string("to the end"));
    }
    text += ", " + PrintBytes(pick->input_bytes) +
            (pick->is_move ? ", would move. " : ", would be read and become one run. ");
  }
  text += std::string("The reason: ") + Explain(pick->reason) + ".";
  if (!pick->blob_files_to_collect.empty())
    text += " It would also collect " + Count(pick->blob_files_to_collect.size(), "blob file", "blob files") + ".";
  return text;
}

std::string ExplainStyle(Style style) {
  return style == Style::kLazy ? "many runs of one level gather before they become one run of the next level."
                               : "below the runs that come from memory, each level has at most one run, and room for "
                                 "twice as much as the "
                                 "level above it.";
}

std::string NextCompactions(const InspectPage& page) {
  std::string out =
      "<h2>What would be compacted next, and why</h2><p class=soft>Computed from this state, for the compaction style "
      "&quot;" +
      std::string(page.style == Style::kLazy ? "lazy" : "cascade") + "&quot;: " + ExplainStyle(page.style) +
      " The first compaction is marked in the drawing below. Others follow it.</p>";
  const std::pair<const char*, picker::Urgency> kCases[] = {
      {"While writes come", picker::Urgency::kWriting},
      {"One second after the last write", picker::Urgency::kQuiet},
      {"Five seconds after it", picker::Urgency::kIdle}};
  std::string before;
  for (const auto& [name, urgency] : kCases) {
    const std::string text = PickText(page, urgency);
    out += std::string("<p><b>") + name + ".</b> " + (text == before ? "The same." : text) + "</p>";
    before = text;
  }
  return out;
}

std::string Limits(const InspectPage& page) {
  if (!page.live) {
    return "<h2>What it does now</h2><p>No process has the database open for writes, so nothing changes until one "
           "opens "
           "it.</p>";
  }
  std::string out = std::string("<h2>What it does now</h2><p>") + (page.live->has_ended() ? "The " : "It is open in ") +
                    Html(ToLine(page.live->Describe())) + ".";
  const auto rate = [&](std::string_view name) { return static_cast<uint64_t>(page.live->Rate(name) + 0.5); };
  if (!page.live->has_ended())
    out += " In each of the last seconds: " + Count(rate("writes"), "write", "writes") + ", " +
           PrintBytes(rate("flush_bytes")) + " flushed to new runs, " + PrintBytes(rate("compaction_bytes_written")) +
           " written by compactions.";
  out += "</p>";
  const auto findings = db::Diagnose(page.live->state());
  if (findings.empty()) out += "<p class=\"limit fine\">Nothing limits the database.</p>";
  for (const db::Finding& finding : findings)
    out += "<p class=limit>" + Html(ToLine(finding.text)) + "<br><b>To change it:</b> " + Html(finding.advice) + "</p>";
  for (const format::LiveCompaction& each : page.live->state().compactions) {
    out += "<div class=row><div class=name><span>a compaction runs (" + Html(ToLine(each.reason)) + ", " +
           Count(each.runs, "run", "runs") + ", " + PrintBytes(each.input_bytes) + ")</span><span class=soft>" +
           Format("%.0f %%", 100 * std::min(1.0, Share(each.entries_read, each.entries))) +
           "</span></div><div class=bar>" + Piece(std::min(1.0, Share(each.entries_read, each.entries)), "ok") +
           "</div></div>";
  }
  return out;
}

std::string RunTable(const InspectPage& page) {
  if (page.version.runs().empty()) return "";
  std::string out =
      "<h2>The runs in figures</h2><p class=soft>A run of level 0 comes from memory; compactions put their runs on "
      "higher "
      "levels. " +
      std::string(page.style == Style::kLazy ? "Level 1000 is the bottom: the oldest run, which has most of the data. "
                                             : "") +
      "</p><details><summary>Table</summary><div class=scroll><table><tr><th>run</th><th>level"
      "</th><th>tables</th><th>tables' bytes</th><th>large values</th><th>entries</th><th>tombstones</th><th>range "
      "deletes</th></tr>";
  size_t number = 0;
  for (const version::RunPtr& run : page.version.runs()) {
    out += TableRow({Thousands(++number), Thousands(static_cast<uint64_t>(run->level())),
                     Thousands(run->virtual_tables().size()), PrintBytes(run->bytes()), PrintBytes(run->value_bytes()),
                     Thousands(run->entries()), Thousands(run->tombstones()), Thousands(run->range_tombstones())});
  }
  return out + "</table></div></details>";
}

}  // namespace

namespace {

// Keys between `lower` and `upper` as numbers: the next bytes after what these two have in common are digits. WHY the
// smallest and the largest digit of `keys`: keys of decimal digits then count by tens.
class Digits {
 public:
  Digits(std::string_view lower, std::string_view upper, std::span<const std::string_view> keys) {
    differs_ = static_cast<size_t>(std::ranges::mismatch(lower, upper).in1 - lower.begin());
    for (const std::string_view key : keys) {
      for (const char c : key.substr(std::min(differs_, key.size()), kDigits)) {
        least_ = std::min(least_, static_cast<uint8_t>(c));
        most_ = std::max(most_, static_cast<uint8_t>(c));
      }
    }
  }
  double Of(std::string_view key) const {
    const double base = most_ - least_ + 1.0;
    double value = 0;
    for (size_t at = differs_; at < differs_ + kDigits; ++at)
      value =
          value * base + (at < key.size() ? std::clamp<int>(static_cast<uint8_t>(key[at]), least_, most_) - least_ : 0);
    return value;
  }

 private:
  static constexpr size_t kDigits = 8;
  size_t differs_ = 0;
  uint8_t least_ = 255, most_ = 0;
};

// Adds the bytes of a table to the intervals between its keys, the last of `keys` excluded: by the distances of the
// keys, or equally if these are not known.
void SpreadBytes(double bytes, std::span<const std::string_view> keys, bool is_bytewise, double* intervals) {
  const size_t count = keys.size() - 1;
  const Digits digits(keys.front(), keys.back(), keys);
  const double distance = digits.Of(keys.back()) - digits.Of(keys.front());
  for (size_t i = 0; i < count; ++i) {
    const double share = is_bytewise && distance > 0
                             ? std::max(digits.Of(keys[i + 1]) - digits.Of(keys[i]), 0.0) / distance
                             : 1.0 / static_cast<double>(count);
    intervals[i] += bytes * share;
  }
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
  const auto same = [&](std::string_view a, std::string_view b) { return order_.SameKey(a, b); };
  keys_.erase(std::unique(keys_.begin(), keys_.end(), same), keys_.end());
  std::vector<double> intervals(keys_.size(), 0.0);  // the bytes from each key to the next one
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
      SpreadBytes(static_cast<double>(table.file->bytes + table.file->value_bytes()),
                  std::span(keys_).subspan(first, last - first + 1), order_.is_bytewise(), &intervals[first]);
    }
  }
  double at = 0;
  for (const double bytes : intervals) {
    places_.push_back(at);
    at += bytes + 1e-9;  // WHY more than 0: keys between tables keep their order
  }
  const double all = places_.empty() || places_.back() <= 0 ? 1.0 : places_.back();
  for (double& place : places_) place /= all;
}

double KeyScale::At(std::string_view key) const {
  const auto found = std::ranges::lower_bound(
      keys_, key, [&](std::string_view a, std::string_view b) { return order_.CompareKeys(a, b) < 0; });
  return found == keys_.end() ? 1.0 : places_[static_cast<size_t>(found - keys_.begin())];
}

double KeyScale::Within(std::string_view key) const {
  const auto found = std::ranges::lower_bound(
      keys_, key, [&](std::string_view a, std::string_view b) { return order_.CompareKeys(a, b) < 0; });
  const auto i = static_cast<size_t>(found - keys_.begin());
  if (i == keys_.size()) return 1;
  if (i == 0 || order_.SameKey(*found, key)) return places_[i];
  const Digits digits(keys_[i - 1], keys_[i], keys_);
  const double lower = digits.Of(keys_[i - 1]), distance = digits.Of(keys_[i]) - lower;
  const double share = order_.is_bytewise() && distance > 0 ? (digits.Of(key) - lower) / distance : 0.5;
  return places_[i - 1] + std::clamp(share, 0.0, 1.0) * (places_[i] - places_[i - 1]);
}

std::string KeyScale::KeyAt(double place) const {
  if (keys_.empty()) return "";
  const auto found = std::ranges::lower_bound(places_, place);
  return std::string(found == places_.end() ? keys_.back() : keys_[static_cast<size_t>(found - places_.begin())]);
}

std::string PrintPage(const InspectPage& page) {
  return kHead + Summary(page) + Explanation() + Limits(page) + NextCompactions(page) + Map(page) + BlobFiles(page) +
         PrintHistory(page.history, ExplainName) + RunTable(page) +
         "<p class=soft>Made by mergedb inspect.</p></body></html>\n";
}

}  // namespace mergedb::tool
