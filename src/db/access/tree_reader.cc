#include "db/access/tree_reader.h"

#include <algorithm>

namespace mergedb::db {

Status TreeReader::CheckSnapshot(const ReadOptions& options) const {
  if (options.snapshot == nullptr || store_->snapshots->Owns(options.snapshot)) [[likely]]
    return {};
  return Status::InvalidArgument("the snapshot is of another database");
}

// `take` returns the current SuperVersion. WHY a read with a snapshot is not repeated: the SuperVersion is
// newer than the snapshot, so it holds all pieces of every batch that the snapshot sees.
template <class Take>
auto TreeReader::TakeSuperVersion(const ReadOptions& options, const Take& take, kv::Sequence* sequence) const {
  for (;;) {
    auto super_version = take();
    *sequence = options.snapshot == nullptr ? store_->snapshots->published() : options.snapshot->sequence();
    if (options.snapshot != nullptr || !version_set_.IsTooOld(*super_version)) [[likely]]
      return super_version;
  }
}

Status TreeReader::Get(const ReadOptions& options, std::string_view key, std::string* value,
                       std::span<const std::string_view> newer, read::InPlace* in_place) const {
  RETURN_IF_ERROR(store_->CheckOpen());
  RETURN_IF_ERROR(CheckSnapshot(options));
  kv::Sequence sequence = 0;
  const read::SuperVersionPin super_version = TakeSuperVersion(
      options, [this] { return version_set_.Pinned(); }, &sequence);
  return store_->Explained(read::Lookup(LookupIn(), *super_version, key, sequence,
                                        {options.verify_checksums, options.fill_cache}, value, newer, in_place));
}

namespace {

std::vector<std::string> ToTree(const kv::KeyMap& map, kv::KeyspaceId id, const std::vector<std::string_view>& keys) {
  std::vector<std::string> tree_keys(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    const std::string_view key = map.ToTree(id, keys[i], &tree_keys[i]);
    if (key.data() != tree_keys[i].data()) tree_keys[i] = key;
  }
  return tree_keys;
}

}  // namespace

std::vector<Status> TreeReader::MultiGet(const ReadOptions& options, const kv::KeyMap* map, kv::KeyspaceId id,
                                         const std::vector<std::string_view>& keys,
                                         std::vector<std::string>* values) const {
  if (Status status = CheckSnapshot(options); !status.ok()) return std::vector<Status>(keys.size(), status);
  kv::Sequence sequence = 0;
  const read::SuperVersionPin super_version = TakeSuperVersion(
      options, [this] { return version_set_.Pinned(); }, &sequence);
  const std::vector<std::string> made_keys = map == nullptr ? std::vector<std::string>() : ToTree(*map, id, keys);
  const std::vector<std::string_view> tree_keys(made_keys.begin(), made_keys.end());
  std::vector<Status> statuses(keys.size());
  read::MultiLookup(
      LookupIn(), *super_version, {options.verify_checksums, options.fill_cache},
      {.keys = map == nullptr ? keys : tree_keys, .sequence = sequence, .values = *values, .statuses = statuses});
  for (Status& status : statuses) status = store_->Explained(std::move(status));
  return statuses;
}

std::unique_ptr<read::InternalAccessIterator> TreeReader::NewIterator(const IteratorOptions& options,
                                                                      read::Overlay overlay, read::PinnedTables* kept,
                                                                      kv::SkippedErrors* skipped) const {
  if (Status status = store_->CheckOpen(); !status.ok()) return read::NewErrorIterator(std::move(status));
  if (Status status = CheckSnapshot(options.read); !status.ok()) return read::NewErrorIterator(std::move(status));
  kv::Sequence sequence = 0;
  read::SuperVersionPtr super_version = TakeSuperVersion(
      options.read, [this] { return version_set_.Current(); }, &sequence);
  const read::DbIteratorContext context{.order = store_->order,
                                        .tables = *store_->tables,
                                        .values = store_->values,
                                        .is_closed = store_->is_closed,
                                        .keep = store_,
                                        .directory = store_->directory,
                                        .explain = store_->explain ? &store_->explain : nullptr,
                                        .observer = store_->read_observer.get(),
                                        .operators = &store_->operators,
                                        .latencies = &store_->latencies,
                                        .slow_calls = &store_->slow_calls,
                                        .heat = &store_->heat,
                                        .skipped = skipped,
                                        .kept = kept,
                                        .faults = &store_->file_memory.faults()};
  return read::NewDbIterator(context, std::move(super_version), sequence, options, std::move(overlay));
}

uint64_t TreeReader::SizeOf(const version::Version& version, const format::Bounds& bounds) const {
  uint64_t bytes = 0, referred_bytes = 0;
  for (const auto& run : version.runs()) {
    const auto [first, last] = run->Overlap(store_->order, bounds);
    for (size_t i = first; i < last; ++i) {
      const version::VirtualTable& virtual_table = run->virtual_tables()[i];
      const format::Bounds shown = version::Intersection(store_->order, virtual_table.bounds, bounds);
      const uint64_t value_bytes = virtual_table.file->value_bytes();
      if (version::VirtualTable{virtual_table.file, shown}.is_whole()) {
        bytes += virtual_table.file->bytes;
        referred_bytes += value_bytes;
        continue;
      }
      auto reader = store_->tables->Open(virtual_table.file);
      if (!reader) continue;
      const uint64_t from = shown.lower ? (*reader)->ApproximateOffset(*shown.lower) : 0;
      const uint64_t to = shown.upper ? (*reader)->ApproximateOffset(*shown.upper) : virtual_table.file->bytes;
      if (to <= from) continue;
      // Blob indexes are spread about evenly over the blocks of their table.
      const uint64_t blocks = std::max<uint64_t>((*reader)->ApproximateOffset(virtual_table.file->largest), 1);
      const double share =
          static_cast<double>(std::min(to, blocks) - std::min(from, blocks)) / static_cast<double>(blocks);
      bytes += to - from;
      referred_bytes += static_cast<uint64_t>(share * static_cast<double>(value_bytes));
    }
  }
  // WHY a limit: a partly visible table also refers to values of keys that other tables show.
  return bytes + std::min(referred_bytes, version.value_bytes());
}

}  // namespace mergedb::db
