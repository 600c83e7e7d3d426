#include "write/recent_writes.h"

#include <algorithm>
#include <utility>

#include "format/batch.h"
#include "write/change.h"

namespace mergedb::write {
namespace {

// Appends the keys of a change as DELETE and RANGE_DELETE records.
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
  if (complete_from_ != kv::kSequenceMax) return;  // another transaction started it at the same time
  complete_from_ = published + 1;
  is_recording_.store(true, std::memory_order_release);
}

void RecentWrites::StopRecording() {
  chunks_.clear();
  bytes_ = 0;
  complete_from_ = kv::kSequenceMax;
  is_recording_.store(false, std::memory_order_release);
}

kv::Sequence RecentWrites::NewerThan(kv::Sequence sequence, std::vector<ChunkPtr>* chunks) const {
  base::Lock lock(mutex_);
  const auto first = std::upper_bound(chunks_.begin(), chunks_.end(), sequence,
                                      [](kv::Sequence at, const ChunkPtr& chunk) { return at < chunk->last; });
  chunks->assign(first, chunks_.end());
  return complete_from_;
}

Status RecentWrites::CheckRemembered(kv::Sequence checked_to, kv::Sequence complete_from) {
  if (checked_to + 1 >= complete_from) return {};
  return Status::Conflict("the transaction began at sequence " + std::to_string(checked_to) +
                          ", but only writes after sequence " + std::to_string(complete_from - 1) +
                          " are still known; begin a new transaction");
}

// Adds the new chunks to the index. The index may keep dropped entries until it has twice the bytes of the window.
kv::Sequence RecentWrites::CatchUp() {
  std::vector<ChunkPtr> chunks;
  const kv::Sequence complete_from = NewerThan(indexed_to_, &chunks);
  for (const ChunkPtr& chunk : chunks) {
    index_.Add(chunk->written, chunk->last);
    indexed_to_ = chunk->last;
    if (index_.bytes() > 2 * bytes_max_) index_.Forget(complete_from);
  }
  return complete_from;
}

Status RecentWrites::CheckAhead(ReadCheck* reads) {
  base::Lock lock(index_mutex_);
  RETURN_IF_ERROR(CheckRemembered(reads->checked_to, CatchUp()));
  RETURN_IF_ERROR(reads->CheckAgainst(index_, reads->checked_to));
  reads->checked_to = std::max(reads->checked_to, indexed_to_);
  return {};
}

Status RecentWrites::Check(ReadCheck* reads) {
  std::vector<ChunkPtr> chunks;
  RETURN_IF_ERROR(CheckRemembered(reads->checked_to, NewerThan(reads->checked_to, &chunks)));
  for (const ChunkPtr& chunk : chunks) {
    RETURN_IF_ERROR(reads->CheckAgainst(chunk->written));
    reads->checked_to = chunk->last;
  }
  if (is_pending_lost_) {
    return Status::Conflict("a batch larger than the window of " + std::to_string(bytes_max_) +
                            " bytes is committed before this "
                            "transaction, and its keys are not known; begin a new transaction");
  }
  return pending_.empty() ? Status() : reads->CheckAgainst(pending_);
}

void RecentWrites::Add(const Change& change) {
  const bool is_lost = change.batch() != nullptr && change.batch()->bytes.size() > bytes_max_;
  is_pending_lost_ |= is_lost;
  if (is_lost) return;
  pending_records_ += change.records();
  change.ForEachRecord(
      [this](kv::Kind kind, std::string_view key, std::string_view value) { AppendKey(&pending_, kind, key, value); });
}

void RecentWrites::Discard() {
  pending_.clear();
  pending_records_ = 0;
  is_pending_lost_ = false;
}

void RecentWrites::Publish(kv::Sequence last) {
  if (!is_recording() || (pending_.empty() && !is_pending_lost_)) return Discard();
  auto chunk = std::make_shared<Chunk>();
  chunk->last = last;
  chunk->written = pending_;
  chunk->records = pending_records_;
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
