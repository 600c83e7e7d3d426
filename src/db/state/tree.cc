#include "db/state/tree.h"

#include <utility>

#include "db/state/integrity.h"

namespace mergedb::db {
namespace {

ManifestCommitter::Options CommitterOptions(Store& store, VersionSet& version_set, uint64_t database_id) {
  FileSystem* const files = store.options.env.file_system;
  return {.order = store.order,
          .database_id = database_id,
          .files = {.file_system = files,
                    .directory = store.directory,
                    .allocate_number = [&version_set] { return version_set.AllocateNumber(); },
                    .check =
                        [&store, files](const std::string& path, const format::DescribedFile& file) {
                          return CheckFile(files, path, file, store.order);
                        },
                    .file_replaced = [&store](kv::FileNumber number) { store.Evict(number); }},
          .merge_operators = &store.operator_names,
          .key_marker = store.key_map() == nullptr ? std::nullopt : std::optional(store.key_map()->reserved_prefix()),
          .clock = store.options.env.clock};
}

}  // namespace

compaction::TableFactory FactoryFor(Store& store, std::string directory, compaction::FileOwner& owner) {
  return {.file_system = store.options.env.file_system,
          .directory = std::move(directory),
          .order = store.order,
          .bloom_bits_per_key = store.order.is_bytewise() ? store.options.bloom_bits_per_key : 0,
          .block_bytes = store.options.block_bytes,
          .keeps_keys_whole = store.supplies.keeps_keys_whole,
          .owner = owner,
          .entropy = store.options.env.entropy,
          .blob_value_bytes_min = store.options.blob_value_bytes_min,
          .operators = &store.operators};
}

Tree::Tree(Store& store, Origin origin)
    : database_id(origin.database_id),
      version_set(store.order, origin.version, origin.next_file, origin.next_position, origin.wal_start),
      committer(CommitterOptions(store, version_set, database_id), version_set, wal, std::move(origin.version)),
      recycled_files(store.options.env.file_system, store.directory, *store.obsolete, origin.next_file),
      factory(FactoryFor(store, store.directory, *this)),
      store_(store),
      page_cache_room_(store.options.env.file_system) {
  write_times.clock = store.options.env.clock;
  factory.filter_policy = store.supplies.filter_policy;
  factory.write_times = &write_times;
}

template <class Meta>
std::shared_ptr<const Meta> Tree::TellAndTrack(const std::shared_ptr<const Meta>& meta) {
  store_.events.Emit(EventKind::kFileMade, [&] { return FileFields(format::DataFileOf(*meta)); });
  return store_.obsolete->Track(meta);
}

format::FileMetaPtr Tree::Track(const format::FileMetaPtr& table) { return TellAndTrack(table); }
format::BlobFilePtr Tree::Track(const format::BlobFilePtr& blob_file) { return TellAndTrack(blob_file); }

}  // namespace mergedb::db
