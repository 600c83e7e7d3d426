#include "repair/table_copies.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "format/file_name.h"
#include "table/salvage.h"

namespace mergedb::repair {
namespace {

using OptionalCompactedInputs = std::optional<CompactedInputs::On>;

// The range tombstones that are not obsolete.
kv::RangeTombstones LiveOf(const kv::Order& order, const kv::RangeTombstones& tombstones,
                           const OptionalCompactedInputs& compacted_inputs) {
  if (!tombstones.is_complete()) return tombstones;
  std::vector<kv::RangeTombstone> all, alive;
  tombstones.AppendTo(order, {}, {}, &all);
  for (const kv::RangeTombstone& each : all) {
    if (compacted_inputs) {
      compacted_inputs->AppendLive(each, &alive);
    } else {
      alive.push_back(each);
    }
  }
  return kv::RangeTombstones::Fragment(order, std::move(alive), {}, kv::RangeTombstones::Keys::kCopies);
}

// Adds the entry of a blob index. A value that cannot be read is dropped if it was reported as lost. A value
// in a damaged file is stored in the table; a later compaction may move it to a blob file again.
Status AddBlobIndex(const CopyContext& context, const LooseTable& damaged, const kv::Entry& entry,
                    compaction::Outputs* outputs) {
  const BlobFiles& blob_files = context.blob_files;
  format::BlobIndex reference;
  std::string_view value;
  if (Status status = blob_files.Read(entry.key, entry.value, &reference, &value); !status.ok()) {
    if (status.IsBusy()) return status;
    if (damaged.HasLost(context.factory.order, entry.key)) return {};
    return Status::IOError(std::string(status.message()) +
                           ": an intact value could not be read a second time; run the repair again");
  }
  if (blob_files.IsWhole(reference.file)) return outputs->Add(entry);
  kv::Entry put = entry;
  put.tag = kv::MakeTag(kv::SequenceOf(entry.tag), kv::Kind::kPut);
  put.value = value;
  return outputs->Add(put);
}

format::FileMetaPtr TakeOne(compaction::Outputs* outputs) {
  auto made = outputs->Take();
  return made.empty() ? nullptr : made.front();
}

}  // namespace

Result<format::FileMetaPtr> CopyTable(const CopyContext& context, const LooseTable& damaged,
                                      const kv::RangeTombstones& ranges, uint64_t entries) {
  const compaction::TableFactory& factory = context.factory;
  const format::FileMeta& meta = *damaged.meta;
  OptionalCompactedInputs compacted_inputs;
  if (context.compacted_inputs != nullptr) compacted_inputs.emplace(context.compacted_inputs->Against(damaged));
  compaction::Outputs outputs(
      factory, {.compression = context.compression.bottom,
                .range_tombstones = LiveOf(factory.order, ranges, compacted_inputs),
                .masked_bytes = [&](const kv::RangeTombstones&) { return meta.masked_bytes; },
                .compacted_ranges =
                    damaged.lost_ranges.empty() ? damaged.compacted_ranges : std::vector<format::CompactedRange>()});
  uint64_t shown = 0;
  const auto add = [&](const kv::Entry& entry) {
    ++shown;
    if (compacted_inputs && compacted_inputs->IsObsolete(entry.key, kv::SequenceOf(entry.tag))) return Status();
    return kv::KindOf(entry.tag) == kv::Kind::kPutBlobIndex ? AddBlobIndex(context, damaged, entry, &outputs)
                                                            : outputs.Add(entry);
  };
  const std::string path = format::TablePath(factory.directory, meta.number);
  RETURN_IF_ERROR(table::Salvage({.file_system = factory.file_system,
                                  .path = path,
                                  .number = meta.number,
                                  .meta = context.compacted_inputs == nullptr ? damaged.meta : nullptr,
                                  .order = factory.order},
                                 add)
                      .status());
  if (shown != entries) {
    return Status::IOError(path + ": of " + std::to_string(entries) + " intact entries " + std::to_string(shown) +
                           " could be read a second time; run the repair again");
  }
  RETURN_IF_ERROR(outputs.Finish());
  return TakeOne(&outputs);
}

Result<format::FileMetaPtr> CopyLogged(const CopyContext& context, memtable::Memtable& logged) {
  const compaction::TableFactory& factory = context.factory;
  format::FileMeta meta;  // no bounds: any keys
  meta.smallest_sequence = logged.oldest_sequence();
  meta.largest_sequence = logged.newest_sequence();
  const LooseTable home{.meta = std::make_shared<const format::FileMeta>(meta), .made_as = kv::FileNumber{0}};
  const OptionalCompactedInputs compacted_inputs = context.compacted_inputs->Against(home);
  const auto deletes =
      kv::RangeTombstones::Fragment(factory.order, logged.range_deletes().All(), {}, kv::RangeTombstones::Keys::kViews);
  compaction::Outputs outputs(factory, {.compression = context.compression.upper,
                                        .range_tombstones = LiveOf(factory.order, deletes, compacted_inputs)});
  const auto input = logged.NewFlushIterator();
  for (input->SeekToFirst(); input->Valid(); input->Next()) {
    const kv::Entry& entry = input->entry();
    if (!compacted_inputs->IsObsolete(entry.key, kv::SequenceOf(entry.tag))) RETURN_IF_ERROR(outputs.Add(entry));
  }
  RETURN_IF_ERROR(input->status());
  RETURN_IF_ERROR(outputs.Finish());
  return TakeOne(&outputs);
}

}  // namespace mergedb::repair
