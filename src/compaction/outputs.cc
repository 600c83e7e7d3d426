#include "compaction/outputs.h"

#include "base/zoo.h"
#include "format/file_name.h"

namespace mergedb::compaction {

Status Outputs::Add(const kv::Entry& entry) {
  is_at_cut_ = false;
  const auto& cut_keys = options_.cut_keys;
  for (; next_cut_ < cut_keys.size() && factory_.order.CompareKeys(cut_keys[next_cut_], entry.key) <= 0; ++next_cut_) {
    const std::string_view border = cut_keys[next_cut_];
    RETURN_IF_ERROR(FinishTable(&border));
  }
  if (writer_ != nullptr && IsFullFor(entry)) RETURN_IF_ERROR(FinishTable(&entry.key));
  if (writer_ == nullptr) RETURN_IF_ERROR(BeginTable(options_.bytes_expected));
  return writer_->Add(entry);
}

// In a spare file if there is one that can be had; else in a new one.
Status Outputs::BeginTable(uint64_t bytes_expected) {
  number_ = factory_.allocate_number();
  const std::string path = format::TablePath(factory_.directory, number_);
  table::WriterOptions options{.compression = options_.compression,
                               .bloom_bits_per_key = factory_.bloom_bits_per_key,
                               .block_bytes = factory_.block_bytes,
                               .bytes_expected = bytes_expected,
                               .is_direct = !factory_.has_readers || !factory_.has_readers()};
  if (factory_.reuse) {
    ASSIGN_OR_RETURN(options.is_reuse, factory_.reuse(number_, bytes_expected));
  }
  const auto create = [&] {
    return table::Writer::Create(factory_.file_system, path, number_, factory_.entropy(), factory_.order, options);
  };
  auto writer = create();
  if (!writer && options.is_reuse) {  // somebody made a hard link to it, for example
    RETURN_IF_ERROR(factory_.file_system->Remove(path));
    options.is_reuse = false;
    writer = create();
  }
  if (!writer) return writer.error();
  writer_ = std::move(*writer);
  return {};
}

bool Outputs::IsFullFor(const kv::Entry& entry) const {
  const bool is_full = options_.table_bytes_max != 0 && writer_->bytes_written() >= options_.table_bytes_max;
  if (ZOO(kKeyCutInTwo)) return is_full;
  return is_full && !factory_.order.SameKey(writer_->last_key(), entry.key);
}

Status Outputs::FinishTable(const std::string_view* upper) {
  std::vector<kv::RangeTombstone> clipped;
  options_.range_tombstones.AppendTo(factory_.order, lower_ ? kv::OptionalKey(*lower_) : std::nullopt,
                                     upper != nullptr ? kv::OptionalKey(*upper) : std::nullopt, &clipped);
  const auto ranges = kv::RangeTombstones::Fragment(factory_.order, std::move(clipped), options_.stripes,
                                                    kv::RangeTombstones::Keys::kViews);
  if (writer_ == nullptr && !ranges.empty()) RETURN_IF_ERROR(BeginTable(0));
  if (writer_ != nullptr) {
    writer_->SetRangeTombstones(ranges);
    if (options_.settled) {
      format::Settled share{.sequence = options_.settled->sequence, .bounds = {.lower = settled_from_, .upper = options_.settled->bounds.upper}};
      if (upper != nullptr) settled_from_ = share.bounds.upper = std::string(*upper);
      writer_->SetSettled(std::move(share));
    }
    ASSIGN_OR_RETURN(format::FileMetaPtr meta, writer_->Finish());
    writer_ = nullptr;
    if (!ranges.empty() && options_.covered_bytes) {
      auto estimated = std::make_shared<format::FileMeta>(*meta);
      estimated->covered_bytes = options_.covered_bytes(ranges);
      meta = std::move(estimated);
    }
    bytes_ += meta->bytes;
    finished_.push_back(factory_.track(meta));
    is_at_cut_ = true;
  }
  if (upper != nullptr) lower_ = std::string(*upper);
  return {};
}

Status Outputs::Finish() {
  for (; next_cut_ < options_.cut_keys.size(); ++next_cut_) {
    const std::string_view border = options_.cut_keys[next_cut_];
    RETURN_IF_ERROR(FinishTable(&border));
  }
  return FinishTable(nullptr);
}

Outputs::~Outputs() {
  if (writer_ == nullptr) return;
  writer_ = nullptr;
  // If this fails the file is an orphan that the next open removes.
  (void)factory_.file_system->Remove(format::TablePath(factory_.directory, number_));
}

}  // namespace mergedb::compaction
