#include "compaction/outputs.h"

#include "base/zoo.h"
#include "format/file_name.h"

namespace mergedb::compaction {

Status Outputs::Add(const kv::Entry& entry) {
  is_at_cut_ = false;
  if (writer_ != nullptr && MustCut(entry)) {
    RETURN_IF_ERROR(FinishTable(&entry.key));
    is_at_cut_ = true;
  }
  if (writer_ == nullptr) {
    while (next_cut_ < options_.cut_keys.size() &&
           factory_.order.CompareKeys(options_.cut_keys[next_cut_], entry.key) <= 0) {
      ++next_cut_;
    }
    RETURN_IF_ERROR(BeginTable());
  }
  return writer_->Add(entry);
}

// In a spare file if there is one that can be had; else in a new one.
Status Outputs::BeginTable() {
  number_ = factory_.allocate_number();
  const std::string path = format::TablePath(factory_.directory, number_);
  table::WriterOptions options{.compression = options_.compression,
                               .bloom_bits_per_key = factory_.bloom_bits_per_key,
                               .block_bytes = factory_.block_bytes,
                               .bytes_expected = options_.bytes_expected,
                               .is_direct = !factory_.has_readers || !factory_.has_readers()};
  if (factory_.reuse) {
    ASSIGN_OR_RETURN(options.is_reuse, factory_.reuse(number_, options_.bytes_expected));
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

bool Outputs::MustCut(const kv::Entry& entry) const {
  const bool is_full = options_.table_bytes_max != 0 && writer_->bytes_written() >= options_.table_bytes_max;
  const bool is_border = next_cut_ < options_.cut_keys.size() &&
                         factory_.order.CompareKeys(entry.key, options_.cut_keys[next_cut_]) >= 0;
  if (ZOO(kKeyCutInTwo)) return is_full || is_border;
  return (is_full || is_border) && !factory_.order.SameKey(writer_->last_key(), entry.key);
}

Status Outputs::FinishTable(const std::string_view* next_key) {
  if (options_.settled) {
    format::Settled share{.sequence = options_.settled->sequence, .bounds = {.lower = settled_from_, .upper = options_.settled->bounds.upper}};
    if (next_key != nullptr) settled_from_ = share.bounds.upper = std::string(*next_key);
    writer_->SetSettled(std::move(share));
  }
  auto meta = writer_->Finish();
  if (!meta) return meta.error();
  writer_ = nullptr;
  bytes_ += (*meta)->bytes;
  finished_.push_back(factory_.track(*meta));
  return {};
}

Status Outputs::Finish() { return writer_ == nullptr ? Status() : FinishTable(nullptr); }

Outputs::~Outputs() {
  if (writer_ == nullptr) return;
  writer_ = nullptr;
  // If this fails the file is an orphan that the next open removes.
  (void)factory_.file_system->Remove(format::TablePath(factory_.directory, number_));
}

}  // namespace mergedb::compaction
