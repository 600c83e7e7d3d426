#include "wal/segments.h"

#include <algorithm>

#include "base/assert.h"
#include "format/file_name.h"
#include "wal/aligned.h"
#include "wal/frame.h"

namespace mergedb::wal {

namespace {

constexpr size_t kFillBytes = size_t{256} << 10;
constexpr size_t kFreeSegments = 8;
constexpr uint64_t kFirstCapacity = uint64_t{64} << 10;

}  // namespace

Segments::Segments(const Options& options, bool is_direct, size_t free_bytes_min, Counters* counters)
    : options_(options),
      is_direct_(is_direct),
      is_appended_(options.file_system->is_append_only()),
      capacity_max_(std::max<uint64_t>(RoundUp(options.segment_bytes, kBlockBytes), kBlockBytes)),
      free_bytes_max_(std::max<uint64_t>(kFreeSegments * capacity_max_, free_bytes_min + capacity_max_)),
      counters_(counters),
      next_capacity_(std::min(kFirstCapacity, capacity_max_)) {}

std::string Segments::PathOf(kv::FileNumber number) const { return format::SegmentPath(options_.directory, number); }

Status Segments::Adopt(const std::vector<kv::FileNumber>& reusable) {
  if (is_appended_) {
    for (const kv::FileNumber number : reusable) Remove(number);
    return {};
  }
  // The name of a file that a killed process had just made may not be durable.
  if (!reusable.empty()) RETURN_IF_ERROR(options_.file_system->SyncDirectory(options_.directory));
  std::vector<kv::FileNumber> unfit;
  std::vector<SegmentPtr> fit;
  uint64_t fit_bytes = 0;
  for (const kv::FileNumber number : reusable) {
    SegmentPtr segment = OpenAgain(number);
    if (segment == nullptr || fit_bytes + segment->capacity > free_bytes_max_) {
      unfit.push_back(number);
    } else {
      fit_bytes += segment->capacity;
      fit.push_back(std::move(segment));
    }
  }
  for (const kv::FileNumber number : unfit) Remove(number);
  base::Lock lock(mutex_);
  for (SegmentPtr& segment : fit) free_.push_back(std::move(segment));
  return {};
}

// Null if the file cannot be written again: it is larger than a segment of this WAL, has another size than its head
// says or a second name (a copy by hard links), or was never used.
// WHY not a file that was never used: a process that was killed while making it may not have synced it, and
// the MANIFEST would name it. A used file was synced before its use.
Segments::SegmentPtr Segments::OpenAgain(kv::FileNumber number) {
  auto file = options_.file_system->Open(PathOf(number), {.access = Access::kReuse, .direct = is_direct_});
  if (!file) return nullptr;
  const auto bytes = (*file)->Size();
  if (!bytes) return nullptr;
  const AlignedBytes block = AllocateAligned(kBlockBytes);
  size_t got = 0;
  if (!(*file)->ReadAt(0, kBlockBytes, block.get(), &got).ok()) return nullptr;
  const auto head = LoadSegmentHead({block.get(), got});
  if (!head || head->generation == 0) return nullptr;
  if (head->capacity > capacity_max_ || *bytes != kBlockBytes + head->capacity) return nullptr;
  auto segment = std::make_shared<Segment>();
  segment->number = number;
  segment->capacity = head->capacity;
  segment->file = std::move(*file);
  segment->is_used = true;
  return segment;
}

uint64_t Segments::FreeBytesLocked() const {
  uint64_t bytes = 0;
  for (const SegmentPtr& segment : free_) bytes += segment->capacity;
  return bytes;
}

uint64_t Segments::ReservedEndLocked() const { return is_appended_ ? UINT64_MAX : next_base_ + FreeBytesLocked(); }

uint64_t Segments::reserved_end() const {
  base::Lock lock(mutex_);
  return ReservedEndLocked();
}

Status Segments::Reserve(uint64_t position) {
  if (reserved_end() >= position) return {};  // without a wait for a file that is being made
  base::Lock creation(creation_mutex_);
  while (reserved_end() < position) {
    auto segment = Create();
    if (!segment) {
      GiveBackSurplus();
      return segment.error();
    }
    base::Lock lock(mutex_);
    free_.push_back(std::move(*segment));
  }
  return {};
}

// Releases segments that were made for a frame that does not fit: other files need the disk space and the
// descriptors.
void Segments::GiveBackSurplus() {
  {
    base::Lock lock(mutex_);
    for (; FreeBytesLocked() > free_bytes_max_; free_.pop_back()) retired_.push_back(std::move(free_.back()));
  }
  RemoveUnlisted();
}

Result<Segments::SegmentPtr> Segments::Create() {
  auto segment = std::make_shared<Segment>();
  segment->number = options_.allocate_number();
  segment->capacity = is_appended_ ? capacity_max_ : next_capacity_;
  {
    base::Lock lock(mutex_);
    creating_.push_back(segment->number);  // so that the file does not count as an orphan
  }
  const std::string path = PathOf(segment->number);
  Status status;
  auto file = options_.file_system->Open(path, {.access = Access::kCreate, .direct = is_direct_});
  if (!file) {
    status = file.error();
  } else {
    segment->file = std::move(*file);
    if (!is_appended_) status = FillWithZeros(*segment);
    if (!status.ok()) {
      segment->file.reset();
      (void)options_.file_system->Remove(path);
    }
  }
  base::Lock lock(mutex_);
  std::erase(creating_, segment->number);
  if (!status.ok()) return status;
  next_capacity_ = std::min(2 * next_capacity_, capacity_max_);
  counters_->segments_created.fetch_add(1, std::memory_order_relaxed);
  return segment;
}

Status Segments::FillWithZeros(const Segment& segment) {
  const uint64_t end = kBlockBytes + segment.capacity;
  const size_t step = std::min<uint64_t>(kFillBytes, end);
  const AlignedBytes block = AllocateAligned(step);
  StoreSegmentHead(block.get(), {.database_id = options_.database_id, .capacity = segment.capacity});
  for (uint64_t offset = 0; offset < end; offset += step) {
    RETURN_IF_ERROR(segment.file->WriteAt(offset, {block.get(), std::min<uint64_t>(step, end - offset)}));
    if (offset == 0) std::memset(block.get(), 0, kBlockBytes);
  }
  counters_->syncs.fetch_add(1, std::memory_order_relaxed);
  RETURN_IF_ERROR(segment.file->Sync());
  return options_.file_system->SyncDirectory(options_.directory);
}

Result<Segments::SegmentPtr> Segments::TakeFree() {
  {
    base::Lock lock(mutex_);
    if (!free_.empty()) {
      SegmentPtr segment = std::move(free_.back());
      free_.pop_back();
      creating_.push_back(segment->number);
      return segment;
    }
  }
  // Fewer segments than reserved exist only after a failed write.
  base::Lock creation(creation_mutex_);
  ASSIGN_OR_RETURN(SegmentPtr segment, Create());
  base::Lock lock(mutex_);
  creating_.push_back(segment->number);
  return segment;
}

Status Segments::Activate(uint64_t start) {
  ASSIGN_OR_RETURN(SegmentPtr segment, TakeFree());
  const bool is_reused = segment->is_used;
  segment->is_used = true;
  segment->start = start;
  segment->is_unsynced = true;
  Status status = WriteHead(segment.get(), ++generation_);
  if (status.ok() && is_appended_) status = BeginAppending(*segment);
  {
    base::Lock lock(mutex_);
    std::erase(creating_, segment->number);
    if (status.ok()) {
      ASSERT(live_.empty() || (live_.back()->start < start && start <= live_.back()->limit()) || IsRestart(start),
             "live segments hold the stream in order, without a gap");
      next_base_ = segment->limit();
      live_.push_back(segment);
    }
  }
  if (!status.ok()) {
    {
      base::Lock lock(mutex_);
      retired_.push_back(std::move(segment));
    }
    RemoveUnlisted();
    return status;
  }
  if (is_reused) counters_->segments_reused.fetch_add(1, std::memory_order_relaxed);
  return {};
}

Status Segments::WriteHead(Segment* segment, uint64_t generation) {
  const AlignedBytes block = AllocateAligned(kBlockBytes);
  StoreSegmentHead(block.get(), {.database_id = options_.database_id,
                                 .epoch = options_.epoch,
                                 .salt_crc = SaltCrc(options_.salt),
                                 .generation = generation,
                                 .start = segment->start,
                                 .capacity = segment->capacity,
                                 .is_appended = is_appended_,
                                 .mark = IsRestart(segment->start) ? restart_ : std::nullopt});
  return segment->file->WriteAt(0, {block.get(), kBlockBytes});
}

// Makes the head and the name durable before the MANIFEST may list the file. The bytes below the start are
// zeros and do not count.
Status Segments::BeginAppending(const Segment& segment) {
  const std::string gap(segment.start - segment.base(), '\0');
  if (!gap.empty()) RETURN_IF_ERROR(segment.file->WriteAt(kBlockBytes, gap));
  counters_->syncs.fetch_add(1, std::memory_order_relaxed);
  RETURN_IF_ERROR(segment.file->Sync());
  return options_.file_system->SyncDirectory(options_.directory);
}

Segments::Segment* Segments::Find(uint64_t position) const {
  base::Lock lock(mutex_);
  for (auto segment = live_.rbegin(); segment != live_.rend(); ++segment) {
    if ((*segment)->start > position) continue;
    const bool holds = !(*segment)->is_abandoned && position < (*segment)->limit();
    return holds ? segment->get() : nullptr;
  }
  return nullptr;
}

Result<Segments::Segment*> Segments::Open(uint64_t position, uint64_t from) {
  const uint64_t first_new = std::max(position, from);
  if (Segment* segment = Find(first_new)) return segment;
  RETURN_IF_ERROR(Activate(first_new));
  return Find(first_new);
}

Result<size_t> Segments::Write(uint64_t position, std::string_view bytes, uint64_t from) {
  ASSIGN_OR_RETURN(Segment* const segment, Open(position, from));
  ASSERT(segment != nullptr && position >= segment->base(), "the WAL writer writes forward");
  const uint64_t offset = position - segment->base();
  const size_t fit = std::min<uint64_t>(bytes.size(), segment->capacity - offset);
  segment->is_unsynced = true;
  Status status = segment->file->WriteAt(kBlockBytes + offset, bytes.substr(0, fit));
  if (status.ok()) return fit;
  Abandon(from);
  return status;
}

// Retires the segments that hold only positions from `from` on. The segment before them ends at `from`.
void Segments::Abandon(uint64_t from) {
  base::Lock lock(mutex_);
  while (!live_.empty() && live_.back()->start >= from) {
    retired_.push_back(std::move(live_.back()));
    live_.pop_back();
  }
  if (!live_.empty()) live_.back()->is_abandoned = true;
  next_base_ = RoundDown(from, kBlockBytes);
}

bool Segments::IsRestart(uint64_t start) const { return restart_ && restart_->position == start; }

// WHY the newest segment gets a new head at once: without a MANIFEST, its mark tells repair where the chain begins. WHY
// it is not synced: a crash leaves the old head or the new one, and replay begins at the mark that the MANIFEST names.
void Segments::Restart(const Mark& mark) {
  restart_ = mark;
  if (RestartInPlace(mark)) return;
  base::Lock lock(mutex_);
  if (!live_.empty()) live_.back()->is_abandoned = true;
  next_base_ = RoundDown(mark.position, kBlockBytes);
}

bool Segments::RestartInPlace(const Mark& mark) {
  SegmentPtr newest;
  {
    base::Lock lock(mutex_);
    if (live_.empty() || live_.back()->is_abandoned || is_appended_) return false;
    newest = live_.back();
    newest->start = mark.position;
    next_base_ = newest->limit();
  }
  newest->is_unsynced = true;
  return WriteHead(newest.get(), ++generation_).ok();
}

Status Segments::Sync() {
  std::vector<SegmentPtr> unsynced;
  {
    base::Lock lock(mutex_);
    for (const SegmentPtr& segment : live_) {
      if (segment->is_unsynced) unsynced.push_back(segment);
    }
  }
  for (const SegmentPtr& segment : unsynced) {
    counters_->syncs.fetch_add(1, std::memory_order_relaxed);
    RETURN_IF_ERROR(segment->file->Sync());
    segment->is_unsynced = false;
  }
  return {};
}

void Segments::Release(uint64_t position) {
  {
    base::Lock lock(mutex_);
    listed_ = {listing_.begin(), listing_.end()};
    size_t released = 0;
    while (released + 1 < live_.size() && live_[released + 1]->start <= position) {
      const SegmentPtr& segment = live_[released];
      const bool keep =
          !segment->is_abandoned && !is_appended_ && FreeBytesLocked() + segment->capacity <= free_bytes_max_;
      (keep ? free_ : retired_).push_back(segment);  // WHY a copy: if memory runs out, no list has a null pointer
      ++released;
    }
    live_.erase(live_.begin(), live_.begin() + static_cast<std::ptrdiff_t>(released));
  }
  RemoveUnlisted();
}

void Segments::GiveBack() {
  {
    base::Lock creation(creation_mutex_);
    next_capacity_ = std::min(kFirstCapacity, capacity_max_);
    base::Lock lock(mutex_);
    for (auto* segments : {&live_, &free_}) {
      retired_.insert(retired_.end(), segments->begin(), segments->end());
      segments->clear();
    }
    next_base_ = RoundDown(restart_ ? restart_->position : 0, kBlockBytes);
  }
  RemoveUnlisted();
}

bool Segments::GiveBackReusable(uint64_t end) {
  bool gives = false;
  {
    base::Lock lock(mutex_);
    for (; !free_.empty() && ReservedEndLocked() - free_.back()->capacity >= end; free_.pop_back()) {
      retired_.push_back(std::move(free_.back()));
      gives = true;
    }
  }
  RemoveUnlisted();
  return gives;
}

void Segments::RemoveUnneeded() {
  {
    base::Lock lock(mutex_);
    listed_ = {listing_.begin(), listing_.end()};
    for (auto* segments : {&live_, &free_}) {
      retired_.reserve(retired_.size() + segments->size());  // WHY: an erase_if that throws leaves null pointers
      std::erase_if(*segments, [&](const SegmentPtr& segment) REQUIRES_LOCK(mutex_) {
        if (IsListedLocked(segment->number)) return false;
        retired_.push_back(segment);
        return true;
      });
    }
  }
  RemoveUnlisted();
}

bool Segments::IsListedLocked(kv::FileNumber number) const {
  return listed_.contains(number) || std::ranges::find(listing_, number) != listing_.end();
}

void Segments::RemoveUnlisted() {
  std::vector<SegmentPtr> removed;
  {
    base::Lock lock(mutex_);
    removed.reserve(retired_.size());  // WHY: as in RemoveUnneeded
    std::erase_if(retired_, [&](const SegmentPtr& segment) REQUIRES_LOCK(mutex_) {
      if (IsListedLocked(segment->number)) return false;
      removed.push_back(segment);
      return true;
    });
  }
  for (const SegmentPtr& segment : removed) {
    segment->file.reset();
    Remove(segment->number);
  }
}

// If a removal fails, the file is an orphan. The next open removes it.
void Segments::Remove(kv::FileNumber number) {
  {
    base::Lock lock(mutex_);
    DCHECK(!IsListedLocked(number), "the MANIFEST lists this segment");
  }
  (void)options_.file_system->Remove(PathOf(number));
}

std::vector<kv::FileNumber> Segments::numbers() const {
  base::Lock lock(mutex_);
  std::vector<kv::FileNumber> result = creating_;
  for (const auto* segments : {&live_, &free_, &retired_}) {
    for (const SegmentPtr& segment : *segments) result.push_back(segment->number);
  }
  return result;
}

std::vector<kv::FileNumber> Segments::ListFrom(uint64_t position) {
  base::Lock lock(mutex_);
  listed_.insert(listing_.begin(), listing_.end());
  std::vector<kv::FileNumber> result;
  for (size_t i = 0; i < live_.size() && position != kNothing; ++i) {
    const bool ends_below = i + 1 < live_.size() && live_[i + 1]->start <= position;
    if (!ends_below) result.push_back(live_[i]->number);
  }
  listing_ = result;
  return result;
}

uint64_t Segments::bytes_on_disk() const {
  base::Lock lock(mutex_);
  uint64_t bytes = 0;
  for (const auto* segments : {&live_, &free_, &retired_}) {
    for (const SegmentPtr& segment : *segments) bytes += kBlockBytes + segment->capacity;
  }
  return bytes;
}

uint64_t Segments::live_bytes_on_disk() const {
  base::Lock lock(mutex_);
  uint64_t bytes = 0;
  for (const SegmentPtr& segment : live_) bytes += kBlockBytes + segment->capacity;
  return bytes;
}

void Segments::Close() {
  base::Lock lock(mutex_);
  for (const auto* segments : {&live_, &free_, &retired_}) {
    for (const SegmentPtr& segment : *segments) segment->file.reset();
  }
}

}  // namespace mergedb::wal
