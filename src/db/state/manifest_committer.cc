#include "db/state/manifest_committer.h"

#include <utility>

#include "version/version_builder.h"
#include "version/version_diff.h"

namespace mergedb::db {

ManifestCommitter::ManifestCommitter(const Options& options, VersionSet& version_set, const wal::CurrentWal& wal,
                                     version::VersionPtr version)
    : options_(options),
      version_set_(version_set),
      wal_(wal),
      files_(options.files, *version),
      manifest_({.file_system = options.files.file_system,
                 .directory = options.files.directory,
                 .database_id = options.database_id,
                 .allocate_number = options.files.allocate_number}),
      committed_(std::move(version)),
      key_marker_(options.key_marker),
      key_marker_is_committed_(options.key_marker.has_value()) {}

Status ManifestCommitter::Commit(std::optional<uint64_t> clean_wal_end) {
  base::Lock lock(mutex_);
  const VersionSet::CommitState state = version_set_.BeginCommit();
  const format::VersionEdit edit = Describe(state, clean_wal_end);
  const uint64_t start = options_.clock == nullptr ? 0 : options_.clock->NowNanos();
  Status status = CommitEdit(edit, state.version);
  if (options_.clock != nullptr) commit_nanos_.fetch_add(options_.clock->NowNanos() - start, std::memory_order_relaxed);
  if (status.ok()) NoteCommitted(edit, state.version);
  version_set_.EndCommit(state, status.ok());
  if (status.ok() && !clean_wal_end) wal_.Release(state.wal_start);
  return status;
}

format::VersionEdit ManifestCommitter::Describe(const VersionSet::CommitState& state,
                                                std::optional<uint64_t> clean_wal_end) const {
  wal::CurrentWal::Facts facts = wal_.FactsOf(state.wal_start, clean_wal_end);
  format::VersionEdit edit = manifest_.needs_snapshot()
                                 ? version::VersionEditFromEmpty(*state.version)
                                 : version::DiffVersions(options_.order, *committed_, *state.version);
  if (manifest_.needs_snapshot()) {
    edit.database_id = options_.database_id;
    edit.comparator = std::string(options_.order.comparator()->Name());
  }
  edit.next_file = kv::FileNumber{kv::ToInt(version_set_.next_file()) + 1};
  edit.next_position = state.next_position;
  edit.last_sequence = state.wal_start.sequence - 1;
  edit.wal_start = state.wal_start;
  edit.wal_durable = facts.durable;
  edit.wal_segments = std::move(facts.segments);
  edit.staging_bytes = facts.staging_bytes;
  edit.clean_wal_end = clean_wal_end;
  auto operators = options_.merge_operators != nullptr ? options_.merge_operators->List() : std::vector<std::string>();
  const bool is_news = manifest_.needs_snapshot() ? !operators.empty() : operators != committed_operators_;
  if (is_news) edit.merge_operators = std::move(operators);
  if (manifest_.needs_snapshot() || !key_marker_is_committed_) edit.key_marker = key_marker_;
  if (state.flushed_sequence >= state.wal_start.sequence) edit.flushed_sequence = state.flushed_sequence;
  return edit;
}

Status ManifestCommitter::CommitEdit(const format::VersionEdit& edit, const version::VersionPtr& version) {
  RETURN_IF_ERROR(files_.Sync(edit));
  Status status = manifest_.Commit(edit);
  if (!status.ok()) suspects_.push_back(version);
  return status;
}

void ManifestCommitter::NoteCommitted(const format::VersionEdit& edit, version::VersionPtr version) {
  if (edit.clean_wal_end) (void)manifest_.BindEnd();  // optional: all data is durable without it
  commits_.fetch_add(1, std::memory_order_relaxed);
  manifest_bytes_.store(manifest_.bytes_on_disk(), std::memory_order_relaxed);
  committed_ = std::move(version);
  if (edit.merge_operators) committed_operators_ = *edit.merge_operators;
  key_marker_is_committed_ = key_marker_.has_value();
  suspects_.clear();
  files_.Trim(*committed_);
}

void ManifestCommitter::SetKeyMarker(std::string marker) {
  base::Lock lock(mutex_);
  key_marker_ = std::move(marker);
}

Status ManifestCommitter::SyncFiles(const version::Version& version) {
  base::Lock lock(mutex_);
  return files_.Sync(version::VersionEditFromEmpty(version));
}

std::optional<kv::FileNumber> ManifestCommitter::manifest_number() const {
  base::Lock lock(mutex_);
  return manifest_.number();
}

}  // namespace mergedb::db
