#include "write/recent_writes.h"

#include <algorithm>
#include <utility>

#include "format/batch.h"
#include "write/commit_queue.h"

namespace mergedb::write {
namespace {

// The keys of a change, as DELETE and RANGE_DELETE records.
void AppendKey(std::string* written, kv::Kind kind, std::string_view key, std::string_view value) {
  const bool is_range = kind == kv::Kind::kRangeDelete;
  format::AppendRecord(written, is_range ? kind : kv::Kind::kDelete, key, is_range ? value : std::string_view());
}

}  // namespace

bool RecentWrites::Enter() {
  base::Lock lock(mutex_);
  ++transactions_;
  return complete_from_ == kv::kSequenceMax;
}

void RecentWrites::Leave() {
  base::Lock lock(mutex_);
  --transactions_;
}

void RecentWrites::StartRecording(kv::Sequence published) {
  base::Lock lock(mutex_);
  if (complete_from_ != kv::kSequenceMax) return;  // somebody else began at the same time
  complete_from_ = published + 1;
  is_recording_.store(true, std::memory_order_release);
}

void RecentWrites::StopRecording() {
  chunks_.clear();
  bytes_ = 0;
  complete_from_ = kv::kSequenceMax;
  is_recording_.store(false, std::memory_order_release);
}

Status RecentWrites::NewerThan(kv::Sequence sequence, std::vector<ChunkPtr>* chunks) const {
  base::Lock lock(mutex_);
  if (sequence + 1 < complete_from_) {
    return Status::Conflict("the transaction began at sequence " + std::to_string(sequence) +
                            ", and of what was written since only what came after " + std::to_string(complete_from_ - 1) +
                            " is remembered: begin again");
  }
  const auto first = std::upper_bound(chunks_.begin(), chunks_.end(), sequence,
                                      [](kv::Sequence at, const ChunkPtr& chunk) { return at < chunk->last; });
  chunks->assign(first, chunks_.end());
  return {};
}

Status RecentWrites::CheckAhead(ReadCheck* reads) {
  std::vector<ChunkPtr> chunks;
  RETURN_IF_ERROR(NewerThan(reads->checked_to, &chunks));
  for (const ChunkPtr& chunk : chunks) {
    RETURN_IF_ERROR(reads->CheckAgainst(chunk->written));
    reads->checked_to = chunk->last;
  }
  return {};
}

Status RecentWrites::Check(ReadCheck* reads) {
  RETURN_IF_ERROR(CheckAhead(reads));
  return pending_.empty() ? Status() : reads->CheckAgainst(pending_);
}

void RecentWrites::Add(const Change& change) {
  // WHY: a batch this large goes alone, so nobody of its group has to be checked against it.
  is_pending_lost_ = change.is_batch && change.batch.size() > bytes_max_;
  if (is_pending_lost_) return;
  if (!change.is_batch) return AppendKey(&pending_, change.kind, change.key, change.value);
  format::BatchReader reader(change.batch);
  while (reader.Next()) AppendKey(&pending_, reader.kind(), reader.key(), reader.value());
}

void RecentWrites::Discard() {
  pending_.clear();
  is_pending_lost_ = false;
}

void RecentWrites::Publish(kv::Sequence last) {
  if (!is_recording() || (pending_.empty() && !is_pending_lost_)) return Discard();
  auto chunk = std::make_shared<Chunk>();
  chunk->last = last;
  chunk->written = pending_;
  const size_t bytes = is_pending_lost_ ? bytes_max_ + 1 : BytesOf(*chunk);
  Discard();

  base::Lock lock(mutex_);
  if (bytes_ + bytes > bytes_max_ && transactions_ == 0) return StopRecording();
  MakeRoom(bytes);
  if (bytes > bytes_max_) {
    complete_from_ = last + 1;
    return;
  }
  bytes_ += bytes;
  chunks_.push_back(std::move(chunk));
}

void RecentWrites::MakeRoom(size_t bytes) {
  while (!chunks_.empty() && bytes_ + bytes > bytes_max_) {
    complete_from_ = chunks_.front()->last + 1;
    bytes_ -= BytesOf(*chunks_.front());
    chunks_.pop_front();
  }
}

size_t RecentWrites::bytes() const {
  base::Lock lock(mutex_);
  return bytes_;
}

}  // namespace mergedb::write
