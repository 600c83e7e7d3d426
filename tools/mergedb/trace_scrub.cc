#include "trace_scrub.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/random.h"
#include "trace/reader.h"

namespace mergedb::tool {

namespace {

using trace::OpKind;

constexpr size_t kBlockBytes = size_t{64} << 10;

// True for operations with a key in `key`; `end` has another one if a range or an upper bound ends there.
bool HasKey(const trace::Operation& op) {
  switch (op.kind) {
    case OpKind::kPut:
    case OpKind::kDelete:
    case OpKind::kMerge:
    case OpKind::kDeleteRange:
    case OpKind::kGet:
    case OpKind::kSeek:
    case OpKind::kSeekForPrev: return true;
    case OpKind::kIterator: return op.has_lower;
    default: return false;
  }
}
bool HasEnd(const trace::Operation& op) { return op.kind == OpKind::kDeleteRange || op.has_upper; }

class Keys {
 public:
  explicit Keys(uint64_t seed) : seed_(seed) {}

  void Add(std::string_view key) {
    if (!key.empty()) ranks_.try_emplace(std::string(key), 0);
  }
  void Rank() {
    std::vector<std::pair<const std::string, uint64_t>*> order;
    for (auto& entry : ranks_) order.push_back(&entry);
    std::ranges::sort(order, {}, [](const auto* entry) -> const std::string& { return entry->first; });
    for (size_t rank = 0; rank < order.size(); ++rank) order[rank]->second = rank;
    while (rank_bytes_ < 8 && order.size() > uint64_t{1} << (8 * rank_bytes_)) ++rank_bytes_;
  }
  bool Has(std::string_view key) const { return key.empty() || ranks_.contains(std::string(key)); }
  // REQUIRES: Has(key)
  std::string Of(std::string_view key) const {
    if (key.empty()) return {};
    const uint64_t rank = ranks_.find(std::string(key))->second;
    std::string scrubbed;
    for (size_t byte = rank_bytes_; byte-- > 0;) scrubbed += static_cast<char>(rank >> (8 * byte));
    base::Random random(seed_ ^ (rank + 1) * 0x9E3779B97F4A7C15u);
    while (scrubbed.size() < key.size()) scrubbed += static_cast<char>(random.Next());
    return scrubbed;
  }

 private:
  const uint64_t seed_;
  std::unordered_map<std::string, uint64_t> ranks_;
  size_t rank_bytes_ = 1;
};

}  // namespace

Status ScrubTrace(FileSystem* files, const std::string& source, OutputFile* target, uint64_t seed,
                  Status* source_status) {
  Keys keys(seed);
  {
    ASSIGN_OR_RETURN(const auto reader, trace::Reader::Open(files, source));
    for (trace::Operation op; reader->Next(&op);) {
      if (HasKey(op)) keys.Add(op.key);
      if (HasEnd(op)) keys.Add(op.end);
    }
  }
  keys.Rank();
  ASSIGN_OR_RETURN(const auto reader, trace::Reader::Open(files, source));
  trace::Head head = reader->head();
  head.id = base::Random(seed ^ head.id).Next();
  head.has_values = false;
  head.is_scrubbed = true;
  target->Write(trace::EncodeHead(head));
  trace::BlockBuilder builder(head.id);
  uint64_t elements_left = 0, operations = 0, lost = 0, last_micros = 0;
  for (trace::Operation op; reader->Next(&op) && !target->has_failed();) {
    if ((HasKey(op) && !keys.Has(op.key)) || (HasEnd(op) && !keys.Has(op.end)))
      return Status::Busy(source + ": the trace grew while it was read; scrub it after its recording has ended");
    const std::string key = HasKey(op) ? keys.Of(op.key) : "", end = HasEnd(op) ? keys.Of(op.end) : "";
    op.key = key;
    op.end = end;
    op.value = std::nullopt;
    builder.Add(op);
    last_micros = op.start_micros;
    if (op.is_element && elements_left > 0) --elements_left;
    if (trace::IsGroup(op.kind)) elements_left = op.count;
    if (op.kind == OpKind::kLost) lost += op.count;
    if (op.kind != OpKind::kLost && !op.is_element) ++operations;
    if (elements_left == 0 && builder.bytes() >= kBlockBytes) target->Write(builder.Finish());
  }
  *source_status = reader->status();
  builder.Add(reader->end() ? *reader->end()
                            : trace::Operation{.kind = OpKind::kEnd,
                                               .start_micros = last_micros,
                                               .count = operations,
                                               .lost = lost,
                                               .reason = trace::EndReason::kScrubbed});
  target->Write(builder.Finish());
  return {};
}

}  // namespace mergedb::tool
