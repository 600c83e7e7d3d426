#include "format/live_state.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "base/coding.h"
#include "base/crc32c.h"

namespace mergedb::format {
namespace {

constexpr std::string_view kMagic = "mrgdLIVE";
constexpr uint32_t kVersion = 1;
constexpr size_t kHeadBytes = 32;
constexpr size_t kCrcOffset = 24;

enum class Field : uint32_t {
  kProcess = 1,
  kTimes = 2,
  kMetric = 3,
  kCompaction = 4,
  kText = 5,
  kRun = 6,
  kHeat = 7,
  kHeatAges = 8
};

// Texts are bounded, so that one of them does not fill a slot.
constexpr size_t kTextBytesMax = 512;
std::string_view Bounded(std::string_view text) { return text.substr(0, kTextBytesMax); }

void AppendNumbers(std::string* out, std::initializer_list<uint64_t> numbers) {
  for (const uint64_t number : numbers) base::AppendVarint64(out, number);
}

std::string ContentOf(const LiveProcess& process) {
  std::string out;
  AppendNumbers(&out, {process.pid, process.pid_namespace, process.start_ticks});
  base::AppendLengthPrefixed(&out, Bounded(process.boot_id));
  return out;
}

std::string ContentOf(const LiveTimes& times) {
  std::string out;
  AppendNumbers(&out, {times.opened_unix_micros, times.updated_unix_micros, times.updated_boot_nanos,
                       times.period_nanos, times.window_nanos});
  return out;
}

std::string ContentOf(const LiveMetric& metric) {
  std::string out;
  AppendNumbers(&out, {static_cast<uint64_t>(metric.kind)});
  base::AppendLengthPrefixed(&out, Bounded(metric.name));
  base::AppendLengthPrefixed(&out, Bounded(metric.unit));
  AppendNumbers(&out, {metric.value, metric.value_before});
  if (metric.kind != LiveKind::kHistogram) return out;
  base::AppendVarint64(&out, metric.buckets.size());
  uint64_t upper = 0;
  for (const LiveBucket& bucket : metric.buckets) {
    AppendNumbers(&out, {bucket.upper - upper, bucket.count, bucket.count_before});
    upper = bucket.upper;
  }
  return out;
}

std::string ContentOf(const LiveCompaction& compaction) {
  std::string out;
  base::AppendLengthPrefixed(&out, Bounded(compaction.reason));
  AppendNumbers(&out, {compaction.runs, compaction.level, compaction.input_bytes, compaction.written_bytes,
                       compaction.age_nanos, compaction.entries, compaction.entries_read});
  return out;
}

std::string ContentOf(const LiveText& text) {
  std::string out;
  base::AppendLengthPrefixed(&out, Bounded(text.name));
  base::AppendLengthPrefixed(&out, Bounded(text.text));
  return out;
}

std::string ContentOf(const LiveHeat& heat) {
  std::string out;
  base::AppendLengthPrefixed(&out, Bounded(heat.from));
  AppendNumbers(&out, {heat.reads, heat.writes});
  return out;
}

std::string ContentOf(const LiveHeatAges& ages) {
  std::string out;
  AppendNumbers(&out, {ages.reads_nanos, ages.writes_nanos});
  return out;
}

std::string ContentOf(const LiveRun& run) {
  std::string out;
  AppendNumbers(&out, {run.position, run.level, run.tables, run.bytes, run.value_bytes, run.entries, run.tombstones});
  return out;
}

// False if the field does not fit any more.
template <class Value>
bool AppendField(std::string* out, Field field, const Value& value) {
  const std::string content = ContentOf(value);
  const size_t bytes = base::VarintBytes(static_cast<uint32_t>(field)) + base::VarintBytes(content.size());
  if (out->size() + bytes + content.size() > kLiveSlotBytes) return false;
  base::AppendVarint32(out, static_cast<uint32_t>(field));
  base::AppendLengthPrefixed(out, content);
  return true;
}

template <class Value>
void AppendFields(std::string* out, Field field, const std::vector<Value>& values) {
  for (const Value& value : values) {
    if (!AppendField(out, field, value)) return;
  }
}

bool TakeNumbers(std::string_view* in, std::initializer_list<uint64_t*> numbers) {
  return std::ranges::all_of(numbers, [in](uint64_t* number) { return base::TakeVarint64(in, number); });
}

bool TakeText(std::string_view* in, std::string* text) {
  std::string_view bytes;
  if (!base::TakeLengthPrefixed(in, &bytes)) return false;
  *text = bytes;
  return true;
}

// Names of metrics and texts become lines of programs that read LIVE: letters, digits and underscores only.
bool TakeName(std::string_view* in, std::string* name) {
  return TakeText(in, name) && !name->empty() && std::ranges::all_of(*name, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
         });
}

// Units, reasons and boot ids are printable ASCII.
bool TakeWords(std::string_view* in, std::string* words) {
  return TakeText(in, words) && std::ranges::all_of(*words, [](char c) { return c >= ' ' && c <= '~'; });
}

bool Take(std::string_view in, LiveProcess* process) {
  return TakeNumbers(&in, {&process->pid, &process->pid_namespace, &process->start_ticks}) &&
         TakeWords(&in, &process->boot_id);
}

bool Take(std::string_view in, LiveTimes* times) {
  return TakeNumbers(&in, {&times->opened_unix_micros, &times->updated_unix_micros, &times->updated_boot_nanos,
                           &times->period_nanos, &times->window_nanos});
}

bool TakeBuckets(std::string_view in, std::vector<LiveBucket>* buckets) {
  uint64_t count = 0, upper = 0;
  if (!base::TakeVarint64(&in, &count) || count > in.size()) return false;
  for (; count > 0; --count) {
    LiveBucket bucket;
    if (!TakeNumbers(&in, {&bucket.upper, &bucket.count, &bucket.count_before})) return false;
    bucket.upper = upper += bucket.upper;
    buckets->push_back(bucket);
  }
  return true;
}

bool Take(std::string_view in, LiveMetric* metric) {
  uint64_t kind = 0;
  if (!base::TakeVarint64(&in, &kind) || !TakeName(&in, &metric->name) || !TakeWords(&in, &metric->unit) ||
      !TakeNumbers(&in, {&metric->value, &metric->value_before})) {
    return false;
  }
  metric->kind = static_cast<LiveKind>(std::min<uint64_t>(kind, UINT8_MAX));
  return metric->kind != LiveKind::kHistogram || TakeBuckets(in, &metric->buckets);
}

bool Take(std::string_view in, LiveCompaction* compaction) {
  return TakeWords(&in, &compaction->reason) &&
         TakeNumbers(&in, {&compaction->runs, &compaction->level, &compaction->input_bytes, &compaction->written_bytes,
                           &compaction->age_nanos, &compaction->entries, &compaction->entries_read});
}

bool Take(std::string_view in, LiveText* text) { return TakeName(&in, &text->name) && TakeText(&in, &text->text); }

bool Take(std::string_view in, LiveHeat* heat) {
  return TakeText(&in, &heat->from) && TakeNumbers(&in, {&heat->reads, &heat->writes});
}

bool Take(std::string_view in, LiveHeatAges* ages) {
  return TakeNumbers(&in, {&ages->reads_nanos, &ages->writes_nanos});
}

bool Take(std::string_view in, LiveRun* run) {
  return TakeNumbers(&in, {&run->position, &run->level, &run->tables, &run->bytes, &run->value_bytes, &run->entries,
                           &run->tombstones});
}

template <class Value>
bool TakeInto(std::string_view in, std::vector<Value>* values) {
  Value value;
  if (!Take(in, &value)) return false;
  values->push_back(std::move(value));
  return true;
}

bool TakeField(uint32_t tag, std::string_view content, LiveState* state) {
  switch (static_cast<Field>(tag)) {
    case Field::kProcess: return Take(content, &state->process);
    case Field::kTimes: return Take(content, &state->times);
    case Field::kMetric: return TakeInto(content, &state->metrics);
    case Field::kCompaction: return TakeInto(content, &state->compactions);
    case Field::kText: return TakeInto(content, &state->texts);
    case Field::kRun: return TakeInto(content, &state->runs);
    case Field::kHeat: return TakeInto(content, &state->heat);
    case Field::kHeatAges: return Take(content, &state->heat_ages);
  }
  return true;  // of a newer program
}

uint32_t CrcOf(std::string_view slot, size_t payload_bytes) {
  return base::Crc32cExtend(base::Crc32c(slot.substr(0, kCrcOffset)), slot.data() + kHeadBytes, payload_bytes);
}

Status Damaged(std::string_view what) {
  return Status::Corruption("LIVE: " + std::string(what) + "; it is written again within a second by an open database");
}

}  // namespace

const LiveMetric* LiveState::Find(std::string_view name) const {
  const auto found = std::ranges::find(metrics, name, &LiveMetric::name);
  return found == metrics.end() ? nullptr : &*found;
}

uint64_t LiveState::Value(std::string_view name) const {
  const LiveMetric* const metric = Find(name);
  return metric == nullptr ? 0 : metric->value;
}

uint64_t LiveState::Growth(std::string_view name) const {
  const LiveMetric* const metric = Find(name);
  if (metric == nullptr) return 0;
  return metric->value >= metric->value_before ? metric->value - metric->value_before : metric->value;
}

std::string_view LiveState::Text(std::string_view name) const {
  const auto found = std::ranges::find(texts, name, &LiveText::name);
  return found == texts.end() ? std::string_view() : found->text;
}

std::string EncodeLiveSlot(const LiveState& state) {
  std::string slot(kHeadBytes, '\0');
  AppendField(&slot, Field::kProcess, state.process);
  AppendField(&slot, Field::kTimes, state.times);
  AppendFields(&slot, Field::kMetric, state.metrics);
  AppendFields(&slot, Field::kText, state.texts);
  AppendFields(&slot, Field::kCompaction, state.compactions);
  if (!state.heat.empty() && AppendField(&slot, Field::kHeatAges, state.heat_ages))
    AppendFields(&slot, Field::kHeat, state.heat);
  AppendFields(&slot, Field::kRun, state.runs);
  const size_t payload_bytes = slot.size() - kHeadBytes;
  std::copy(kMagic.begin(), kMagic.end(), slot.begin());
  base::StoreFixed32(&slot[8], kVersion);
  base::StoreFixed32(&slot[12], static_cast<uint32_t>(payload_bytes));
  base::StoreFixed64(&slot[16], state.update);
  base::StoreFixed32(&slot[kCrcOffset], CrcOf(slot, payload_bytes));
  return slot;
}

Result<LiveState> DecodeLiveSlot(std::string_view slot) {
  if (slot.size() < kHeadBytes || !slot.starts_with(kMagic)) return Damaged("no state is in it");
  const uint32_t version = base::LoadFixed32(&slot[8]);
  if (version > kVersion)
    return Status::NotSupported("LIVE: version " + std::to_string(version) + "; this program reads version 1");
  const size_t payload_bytes = base::LoadFixed32(&slot[12]);
  if (payload_bytes > slot.size() - kHeadBytes) return Damaged("a length is invalid");
  if (CrcOf(slot, payload_bytes) != base::LoadFixed32(&slot[kCrcOffset])) return Damaged("a checksum does not match");
  LiveState state;
  state.update = base::LoadFixed64(&slot[16]);
  for (std::string_view in = slot.substr(kHeadBytes, payload_bytes); !in.empty();) {
    uint32_t tag = 0;
    std::string_view content;
    if (!base::TakeVarint32(&in, &tag) || !base::TakeLengthPrefixed(&in, &content) ||
        !TakeField(tag, content, &state)) {
      return Damaged("a field is invalid");
    }
  }
  return state;
}

Result<LiveState> DecodeLiveFile(std::string_view file) {
  Result<LiveState> newest = DecodeLiveSlot(file.substr(0, kLiveSlotBytes));
  if (file.size() <= kLiveSlotBytes) return newest;
  Result<LiveState> other = DecodeLiveSlot(file.substr(kLiveSlotBytes, kLiveSlotBytes));
  if (!newest || (other && other->update > newest->update)) return other ? other : newest;
  return newest;
}

}  // namespace mergedb::format
