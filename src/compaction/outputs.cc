#include "compaction/outputs.h"

#include <algorithm>

#include "format/blob_file.h"
#include "version/run.h"

namespace mergedb::compaction {
namespace {

// Smaller blob files are written through the page cache in one call.
constexpr uint64_t kBufferedBytesMax = 256 << 10;

// The minimum number of values in a blob file, and their minimum share of all entries (one over this).
constexpr uint64_t kValuesMin = 256;
constexpr uint64_t kShareOfEntries = 4;

// A writer for `file`, which will have about file.bytes: over a recycled file if one is available, else in a new file.
// `create(path, is_reuse)` makes it.
template <class Create>
auto CreateWriter(const TableFactory& factory, const format::DataFile& file, Create create)
    -> decltype(create(std::string(), false)) {
  const std::string path = file.PathIn(factory.directory);
  ASSIGN_OR_RETURN(const bool is_reuse, factory.owner.Reuse(file));
  auto writer = create(path, is_reuse);
  if (writer || !is_reuse) return writer;
  RETURN_IF_ERROR(factory.file_system->Remove(path));  // for example, a hard link to the file exists
  return create(path, false);
}

}  // namespace

bool AreWorthABlobFile(const TableFactory& factory, uint64_t entries, uint64_t bytes) {
  const uint64_t large = factory.blob_value_bytes_min;
  return large != 0 && bytes / kValuesMin >= large && bytes / (entries + 1) >= large / kShareOfEntries;
}

Status Outputs::Add(const kv::Entry& entry) { return Add(entry, options_.separates_values); }

Status Outputs::AddMoved(const kv::Entry& entry) { return Add(entry, true); }

Status Outputs::Add(const kv::Entry& entry, bool separates) {
  RETURN_IF_ERROR(CutBefore(entry));
  if (writer_ == nullptr) RETURN_IF_ERROR(BeginTable(options_.bytes_expected));

  const kv::Kind kind = kv::KindOf(entry.tag);
  if (kind == kv::Kind::kPutBlobIndex) {
    RETURN_IF_ERROR(CountBlobIndex(entry.value));
  } else if (separates && kind == kv::Kind::kPut && factory_.blob_value_bytes_min != 0 &&
             entry.value.size() >= factory_.blob_value_bytes_min) {
    kv::Entry separated;
    RETURN_IF_ERROR(Separate(entry, &separated));
    return writer_->Add(separated);
  }
  return writer_->Add(entry);
}

Status Outputs::CutBefore(const kv::Entry& entry) {
  is_at_publication_ = false;
  const size_t finished_before = finished_.size();
  const auto& cut_keys = options_.cut_keys;
  for (; next_cut_ < cut_keys.size() && factory_.order.CompareKeys(cut_keys[next_cut_], entry.key) <= 0; ++next_cut_) {
    const std::string_view border = cut_keys[next_cut_];
    RETURN_IF_ERROR(FinishTable(&border));
  }
  if (writer_ != nullptr && IsFullFor(entry)) RETURN_IF_ERROR(FinishTable(&entry.key));
  if (finished_.size() == finished_before || options_.publication_bytes == 0) return {};
  if (unpublished_bytes() < options_.publication_bytes) return {};
  RETURN_IF_ERROR(FinishValues());
  published_bytes_ = bytes_;
  is_at_publication_ = true;
  return {};
}

uint64_t Outputs::unpublished_bytes() const {
  return bytes_ - published_bytes_ + (writer_ == nullptr ? 0 : writer_->bytes_written()) +
         (values_ == nullptr ? 0 : values_->record_bytes());
}

Status Outputs::BeginTable(uint64_t bytes_expected) {
  number_ = factory_.owner.AllocateNumber();
  is_direct_ = !factory_.owner.HasReaders();
  references_.clear();
  table_value_bytes_ = 0;
  const auto create = [&](const std::string& path, bool is_reuse) {
    const table::WriterOptions options{.compression = options_.compression,
                                       .bloom_bits_per_key = factory_.bloom_bits_per_key,
                                       .filter_policy = factory_.filter_policy,
                                       .block_bytes = factory_.block_bytes,
                                       .keeps_keys_whole = factory_.keeps_keys_whole,
                                       .bytes_expected = bytes_expected,
                                       .is_direct = is_direct_,
                                       .is_reuse = is_reuse,
                                       .times = factory_.write_times};
    return table::Writer::Create(factory_.file_system, path, number_, factory_.entropy(), factory_.order, options);
  };
  ASSIGN_OR_RETURN(writer_, CreateWriter(factory_, {format::FileKind::kTable, number_, bytes_expected}, create));
  return {};
}

Status Outputs::BeginValues() {
  values_number_ = factory_.owner.AllocateNumber();
  const uint64_t bytes = options_.value_bytes_expected;
  const bool is_direct = is_direct_ && bytes >= kBufferedBytesMax && !factory_.owner.FitsInPageCache(bytes);
  const auto create = [&](const std::string& path, bool is_reuse) {
    const blob::WriterOptions options{.compression = options_.compression,
                                      .is_direct = is_direct,
                                      .is_reuse = is_reuse,
                                      .times = factory_.write_times};
    return blob::Writer::Create(factory_.file_system, path, values_number_, factory_.entropy(), options);
  };
  ASSIGN_OR_RETURN(values_, CreateWriter(factory_, {format::FileKind::kBlobFile, values_number_, bytes}, create));
  return {};
}

bool Outputs::IsFullFor(const kv::Entry& entry) const {
  const bool is_full =
      options_.table_bytes_max != 0 && writer_->bytes_written() + table_value_bytes_ >= options_.table_bytes_max;
  return is_full && !factory_.order.SameKey(writer_->last_key(), entry.key);
}

// Writes the value to the blob file; `separated` is the entry with the blob index in place of its value.
Status Outputs::Separate(const kv::Entry& entry, kv::Entry* separated) {
  if (values_ == nullptr) RETURN_IF_ERROR(BeginValues());
  format::BlobIndex reference;
  RETURN_IF_ERROR(values_->Add(entry.key, entry.value, &reference));
  references_[reference.file] += reference.bytes;
  table_value_bytes_ += reference.bytes;
  *separated = {.prefix = entry.prefix,
                .key = entry.key,
                .tag = kv::MakeTag(kv::SequenceOf(entry.tag), kv::Kind::kPutBlobIndex),
                .value = {reference_, format::EncodeBlobIndex(reference_, reference)}};
  return {};
}

Status Outputs::CountBlobIndex(std::string_view bytes) {
  format::BlobIndex reference;
  RETURN_IF_ERROR(format::DecodeBlobIndex(bytes, &reference));
  references_[reference.file] += reference.bytes;
  return {};
}

Status Outputs::FinishTable(const std::string_view* upper) {
  std::vector<kv::RangeTombstone> clipped;
  options_.range_tombstones.AppendTo(factory_.order, lower_ ? kv::OptionalKey(*lower_) : std::nullopt,
                                     upper != nullptr ? kv::OptionalKey(*upper) : std::nullopt, &clipped);
  const auto ranges = kv::RangeTombstones::Fragment(factory_.order, std::move(clipped), options_.stripes,
                                                    kv::RangeTombstones::Keys::kViews);
  if (!ranges.is_complete() || !options_.range_tombstones.is_complete()) {
    return Status::Corruption("range tombstones: the comparator \"" + std::string(factory_.order.comparator()->Name()) +
                              "\" is not a total order; no table was written");
  }
  if (writer_ == nullptr && !ranges.empty()) RETURN_IF_ERROR(BeginTable(0));
  if (writer_ != nullptr) {
    writer_->SetRangeTombstones(ranges);
    writer_->SetCompactedRanges(TakeShare(upper));
    ASSIGN_OR_RETURN(const format::FileMetaPtr written, writer_->Finish());
    writer_ = nullptr;
    format::FileMeta meta = *written;
    for (const auto& [file, bytes] : references_) meta.values.push_back({.file = file, .bytes = bytes});
    std::ranges::sort(meta.values, {}, &format::BlobShare::file);
    if (!ranges.empty() && options_.masked_bytes) meta.masked_bytes = options_.masked_bytes(ranges);
    bytes_ += meta.bytes;
    finished_.push_back(factory_.owner.Track(std::make_shared<const format::FileMeta>(std::move(meta))));
  }
  if (upper != nullptr) lower_ = std::string(*upper);
  return {};
}

Status Outputs::FinishValues() {
  if (values_ == nullptr) return {};
  ASSIGN_OR_RETURN(const format::BlobFilePtr written, values_->Finish());
  values_ = nullptr;
  bytes_ += written->bytes;
  finished_values_.push_back(factory_.owner.Track(written));
  return {};
}

// The part of options_.compacted_ranges below `upper` that no earlier table has taken.
std::vector<format::CompactedRange> Outputs::TakeShare(const std::string_view* upper) {
  format::Bounds bounds{.lower = share_begin_, .upper = {}};
  if (upper != nullptr) share_begin_ = bounds.upper = std::string(*upper);
  std::vector<format::CompactedRange> share;
  for (const format::CompactedRange& compacted_ranges : options_.compacted_ranges) {
    if (!version::Intersect(factory_.order, compacted_ranges.bounds, bounds)) continue;
    share.push_back(compacted_ranges);
    share.back().bounds = version::Intersection(factory_.order, compacted_ranges.bounds, bounds);
  }
  return share;
}

Status Outputs::Finish() {
  for (; next_cut_ < options_.cut_keys.size(); ++next_cut_) {
    const std::string_view border = options_.cut_keys[next_cut_];
    RETURN_IF_ERROR(FinishTable(&border));
  }
  RETURN_IF_ERROR(FinishTable(nullptr));
  return FinishValues();
}

// If a removal fails, the file is an orphan. The next open removes it.
Outputs::~Outputs() {
  if (writer_ != nullptr) {
    writer_ = nullptr;
    (void)factory_.file_system->Remove(format::TablePath(factory_.directory, number_));
  }
  if (values_ != nullptr) {
    values_ = nullptr;
    (void)factory_.file_system->Remove(format::BlobFilePath(factory_.directory, values_number_));
  }
}

}  // namespace mergedb::compaction
