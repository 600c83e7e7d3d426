#include "trace_analysis.h"

#include <algorithm>
#include <bit>
#include <cstdio>

#include "base/hash.h"
#include "text.h"

namespace mergedb::tool {

namespace {

using trace::OpKind;

template <typename... Values>
void PrintFormatted(const char* format, Values... values) {
  char line[256];
  std::snprintf(line, sizeof line, format, values...);
  Print(line);
}

unsigned long long Shown(uint64_t number) { return number; }

const char* EndText(trace::EndReason reason) {
  switch (reason) {
    case trace::EndReason::kEnded: return "ended by the program";
    case trace::EndReason::kFull: return "full";
    case trace::EndReason::kClosed: return "the database was closed";
    case trace::EndReason::kScrubbed: return "scrubbed; the source had no end";
  }
  return "unknown";
}

}  // namespace

// ---- reuse ---------------------------------------------------------------------------------------------------------

void ReuseDistances::Add(size_t place, int64_t change) {
  for (size_t i = place + 1; i <= sums_.size(); i += i & (~i + 1))
    sums_[i - 1] = static_cast<uint32_t>(sums_[i - 1] + change);
}

uint64_t ReuseDistances::SumUpTo(size_t place) const {
  uint64_t sum = 0;
  for (size_t i = place; i > 0; i -= i & (~i + 1)) sum += sums_[i - 1];
  return sum;
}

// Closes the gaps between the places of last accesses.
void ReuseDistances::Renumber() {
  std::vector<uint32_t> keys(places_.size());
  for (uint32_t key = 0; key < keys.size(); ++key) keys[key] = key;
  std::ranges::sort(keys, {}, [this](uint32_t key) { return places_[key]; });
  next_place_ = keys.size();
  sums_.assign(std::max<size_t>(2 * keys.size(), 1 << 16), 0);
  for (size_t place = 0; place < keys.size(); ++place) {
    places_[keys[place]] = place;
    Add(place, 1);
  }
}

void ReuseDistances::Access(uint32_t key) {
  if (next_place_ == sums_.size()) Renumber();
  if (key < places_.size()) {
    const size_t before = places_[key];
    ++counts_[static_cast<size_t>(std::bit_width(places_.size() - SumUpTo(before + 1)))];
    Add(before, -1);
    places_[key] = next_place_;
  } else {
    places_.push_back(next_place_);
  }
  Add(next_place_++, 1);
}

// ---- operations ----------------------------------------------------------------------------------------------------

size_t TraceAnalysis::HashOfKey::operator()(const Key& key) const {
  return base::Hash64(key.second) + key.first * 0x9E3779B97F4A7C15u;
}

void TraceAnalysis::AccessKey(const trace::Operation& op) {
  const auto [found, is_new] =
      keys_.try_emplace(Key(op.keyspace, op.key), OfKey{.id = static_cast<uint32_t>(keys_.size())});
  if (is_new) key_sizes_.Add(op.key.size());
  ++(op.kind == OpKind::kGet ? found->second.reads : found->second.writes);
  reuse_.Access(found->second.id);
}

void TraceAnalysis::Add(const trace::Operation& op) {
  if (op.kind == OpKind::kLost) {
    lost_ += op.count;
    return;
  }
  OfKind& kind = kinds_[static_cast<size_t>(op.kind)];
  if (op.code == Code::kNotFound) {
    ++kind.missed;
  } else if (op.code != Code::kOk) {
    ++kind.failed;
  }
  if (op.in_transaction) ++kind.in_transactions;
  if (op.is_element) {
    ++kind.elements;
  } else {
    ++kind.calls;
    ++calls_;
    ++calls_of_second_[op.start_micros / 1'000'000];
    threads_.insert(op.thread);
    last_micros_ = std::max(last_micros_, op.start_micros + op.took_micros);
    if (kind.micros == nullptr) kind.micros = std::make_unique<base::Histogram>(1);
    kind.micros->Record(op.took_micros, 1, 0);
  }
  if (op.kind == OpKind::kNext || op.kind == OpKind::kPrev) kind.steps += op.count;
  if (op.kind == OpKind::kGet || trace::IsSeek(op.kind)) ++reads_;
  if (trace::IsWrite(op.kind) && op.kind != OpKind::kBatch) ++writes_;
  if (op.kind == OpKind::kGet && op.code == Code::kOk) read_sizes_.Add(op.value_bytes);
  if (op.kind == OpKind::kPut || op.kind == OpKind::kMerge) written_sizes_.Add(op.value_bytes);
  if (op.kind == OpKind::kGet || op.kind == OpKind::kPut || op.kind == OpKind::kDelete || op.kind == OpKind::kMerge)
    AccessKey(op);
}

// ---- output --------------------------------------------------------------------------------------------------------

double TraceAnalysis::Seconds(const trace::Reader& reader) const {
  const uint64_t end = reader.end() ? std::max(reader.end()->start_micros, last_micros_) : last_micros_;
  return static_cast<double>(end) * 1e-6;
}

uint64_t TraceAnalysis::PeakOfSecond() const {
  uint64_t peak = 0;
  for (const auto& [second, calls] : calls_of_second_) peak = std::max(peak, calls);
  return peak;
}

std::vector<std::pair<const TraceAnalysis::Key*, const TraceAnalysis::OfKey*>> TraceAnalysis::HotKeys(
    uint64_t limit) const {
  std::vector<std::pair<const Key*, const OfKey*>> keys;
  for (const auto& [key, use] : keys_) keys.emplace_back(&key, &use);
  const auto middle = keys.begin() + static_cast<std::ptrdiff_t>(std::min<uint64_t>(limit, keys.size()));
  std::partial_sort(keys.begin(), middle, keys.end(), [](const auto& a, const auto& b) {
    const uint64_t of_a = a.second->reads + a.second->writes, of_b = b.second->reads + b.second->writes;
    return of_a != of_b ? of_a > of_b : *a.first < *b.first;
  });
  keys.erase(middle, keys.end());
  return keys;
}

nlohmann::ordered_json TraceAnalysis::ToJson(const std::string& file, uint64_t hot_keys, HexOption format,
                                             const trace::Reader& reader) const {
  const double seconds = Seconds(reader);
  nlohmann::ordered_json kinds = nlohmann::ordered_json::object();
  for (size_t i = 1; i < kinds_.size(); ++i) {
    const OfKind& kind = kinds_[i];
    if (kind.calls + kind.elements == 0) continue;
    nlohmann::ordered_json of_kind = {{"calls", kind.calls}, {"in_groups", kind.elements}, {"failed", kind.failed}};
    if (kind.missed > 0) of_kind["missed"] = kind.missed;
    if (kind.steps > 0) of_kind["steps"] = kind.steps;
    if (kind.in_transactions > 0) of_kind["in_transactions"] = kind.in_transactions;
    if (kind.micros != nullptr) {
      const base::HistogramCounts micros = kind.micros->Read();
      of_kind["mean_us"] = static_cast<double>(micros.sum()) / static_cast<double>(micros.count());
      of_kind["p50_us"] = micros.Quantile(0.5);
      of_kind["p99_us"] = micros.Quantile(0.99);
      of_kind["max_us"] = micros.max();
    }
    kinds[std::string(trace::NameOf(static_cast<OpKind>(i)))] = std::move(of_kind);
  }
  nlohmann::ordered_json hot = nlohmann::ordered_json::array();
  for (const auto& [key, use] : HotKeys(hot_keys)) {
    nlohmann::ordered_json entry;
    SetBytes(format, &entry, "key", key->second);
    if (key->first != 0) entry["keyspace"] = key->first;
    entry["reads"] = use->reads;
    entry["writes"] = use->writes;
    hot.push_back(std::move(entry));
  }
  nlohmann::ordered_json caches = nlohmann::ordered_json::array();
  uint64_t accesses = reuse_.first_accesses(), hits = 0;
  for (const uint64_t count : reuse_.counts()) accesses += count;
  for (size_t bits = 0; bits < 64 && (bits == 0 || uint64_t{1} << (bits - 1) < keys_.size()); ++bits) {
    hits += reuse_.counts()[bits];
    caches.push_back({{"keys", uint64_t{1} << bits}, {"hit_share", Share(hits, accesses)}});
  }
  return {{"file", file},
          {"bytes", reader.file_bytes()},
          {"is_complete", reader.status().ok()},
          {"end", reader.end() ? EndText(reader.end()->reason) : "missing"},
          {"is_scrubbed", reader.head().is_scrubbed},
          {"sampling", reader.head().sampling},
          {"seconds", seconds},
          {"threads", threads_.size()},
          {"calls", calls_},
          {"lost", reader.end() ? reader.end()->lost : lost_},
          {"calls_per_second", seconds > 0 ? static_cast<double>(calls_) / seconds : 0.0},
          {"calls_in_the_busiest_second", PeakOfSecond()},
          {"reads", reads_},
          {"writes", writes_},
          {"read_share", Share(reads_, reads_ + writes_)},
          {"operations", kinds},
          {"point_accesses", accesses},
          {"distinct_keys", keys_.size()},
          {"hot_keys", hot},
          {"key_sizes", SizesJson(key_sizes_)},
          {"written_value_sizes", SizesJson(written_sizes_)},
          {"read_value_sizes", SizesJson(read_sizes_)},
          {"lru_caches", caches}};
}

void TraceAnalysis::PrintText(const std::string& file, uint64_t hot_keys, HexOption format,
                              const trace::Reader& reader) const {
  const nlohmann::ordered_json json = ToJson(file, hot_keys, format, reader);
  PrintFormatted("%llu calls of %zu threads in %.3f s: %.0f a second, at most %llu in one second\n", Shown(calls_),
                 threads_.size(), Seconds(reader), json["calls_per_second"].get<double>(), Shown(PeakOfSecond()));
  PrintFormatted("end: %s; %llu operations were lost\n", json["end"].get<std::string>().c_str(),
                 Shown(json["lost"].get<uint64_t>()));
  if (reader.head().sampling > 1) {
    PrintFormatted("One of %llu keys and iterators is in the trace; all figures are of this sample.\n",
                   Shown(reader.head().sampling));
  }
  PrintFormatted("reads %.1f %% (%llu gets and seeks), writes %.1f %% (%llu)\n\n",
                 100 * json["read_share"].get<double>(), Shown(reads_), 100 * Share(writes_, reads_ + writes_),
                 Shown(writes_));
  PrintFormatted("%-14s%12s%12s%12s%12s%12s%10s%10s%10s\n", "operation", "calls", "in groups", "missed", "failed",
                 "steps", "p50 us", "p99 us", "max us");
  for (const auto& [name, kind] : json["operations"].items()) {
    PrintFormatted("%-14s%12llu%12llu%12llu%12llu%12llu%10llu%10llu%10llu\n", name.c_str(),
                   Shown(kind["calls"].get<uint64_t>()), Shown(kind["in_groups"].get<uint64_t>()),
                   Shown(kind.value("missed", uint64_t{0})), Shown(kind["failed"].get<uint64_t>()),
                   Shown(kind.value("steps", uint64_t{0})), Shown(kind.value("p50_us", uint64_t{0})),
                   Shown(kind.value("p99_us", uint64_t{0})), Shown(kind.value("max_us", uint64_t{0})));
  }
  const auto in_transactions = [this](OpKind kind) { return Shown(kinds_[static_cast<size_t>(kind)].in_transactions); };
  if (in_transactions(OpKind::kGet) + in_transactions(OpKind::kIterator) + in_transactions(OpKind::kBatch) > 0) {
    PrintFormatted("of transactions: %llu gets, %llu iterators, %llu commits (batches)\n",
                   in_transactions(OpKind::kGet), in_transactions(OpKind::kIterator), in_transactions(OpKind::kBatch));
  }
  PrintFormatted("\n%llu point accesses of %zu distinct keys. The hottest keys:\n",
                 Shown(json["point_accesses"].get<uint64_t>()), keys_.size());
  PrintFormatted("%12s%12s  %s\n", "reads", "writes", "key");
  for (const auto& [key, use] : HotKeys(hot_keys)) {
    PrintFormatted("%12llu%12llu  ", Shown(use->reads), Shown(use->writes));
    Print(ShowBytes(format, key->second) + (key->first == 0 ? "" : " @" + std::to_string(key->first)) + "\n");
  }
  Print("\n");
  PrintSizes("sizes of keys", key_sizes_);
  PrintSizes("sizes of written values and operands", written_sizes_);
  PrintSizes("sizes of values that gets found", read_sizes_);
  Print("\nShare of the point accesses that an LRU cache of so many keys serves:\n");
  for (const auto& cache : json["lru_caches"]) {
    PrintFormatted("%12llu keys%8.2f %%\n", Shown(cache["keys"].get<uint64_t>()),
                   100 * cache["hit_share"].get<double>());
  }
}

}  // namespace mergedb::tool
