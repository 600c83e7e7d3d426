#include "blob/scanner.h"

#include <algorithm>

namespace mergedb::blob {
namespace {

// WHY small at first: a short scan uses no more.
constexpr size_t kWindowBytesFirst = 8 << 10;
constexpr size_t kWindowBytesMax = 128 << 10;
// Dropped records leave gaps. A scan reads across gaps up to this size.
constexpr uint64_t kGapBytesMax = 8 << 10;

}  // namespace

Status Scanner::Read(const format::BlobFileMeta& meta, const format::BlobIndex& reference, std::string_view key,
                     std::string_view* value) {
  ASSIGN_OR_RETURN(Course* const course, CourseOf(meta));
  RETURN_IF_ERROR(course->reader->CheckBlobIndex(reference));
  std::string_view record;
  RETURN_IF_ERROR(ReadRecord(course, reference, &record));
  is_first_ = false;
  Status status = course->reader->OpenValue(record, reference, key, verifies_, &room_, value);
  if (status.ok() || !is_in_place_) [[likely]]
    return status;
  // The mapping does not have the value as it should be. What does the file have (base/mapped_faults.h)?
  RETURN_IF_ERROR(ReadSingle(course, reference, &record));
  return course->reader->OpenValue(record, reference, key, verifies_, &room_, value);
}

Status Scanner::ReadSingle(Course* course, const format::BlobIndex& reference, std::string_view* record) {
  if (single_.size() < reference.bytes) single_.resize(reference.bytes);
  RETURN_IF_ERROR(course->reader->ReadAt(reference.offset, reference.bytes, true, single_.data()));
  *record = std::string_view(single_).substr(0, reference.bytes);
  return {};
}

Result<Scanner::Course*> Scanner::CourseOf(const format::BlobFileMeta& meta) {
  if (current_ >= numbers_.size() || numbers_[current_] != meta.number) {
    current_ = static_cast<size_t>(std::ranges::find(numbers_, meta.number) - numbers_.begin());
  }
  if (current_ == numbers_.size()) return NewCourse(meta);
  Course& course = courses_[current_];
  course.used = ++clock_;
  return &course;
}

// In place of the course that was not used for the longest time, if there are enough of them.
Result<Scanner::Course*> Scanner::NewCourse(const format::BlobFileMeta& meta) {
  ASSIGN_OR_RETURN(auto reader, files_.Open(meta));
  if (courses_.size() < limits_.files_max) {
    numbers_.resize(courses_.size() + 1);  // WHY not emplace_back: after one that threw, there may be one more number
    courses_.emplace_back();
  }
  current_ = courses_.size() - 1;
  if (courses_[current_].reader != nullptr) {
    current_ = static_cast<size_t>(std::ranges::min_element(courses_, {}, &Course::used) - courses_.begin());
  }
  numbers_[current_] = meta.number;
  courses_[current_] = Course();
  courses_[current_].reader = std::move(reader);
  courses_[current_].used = ++clock_;
  return &courses_[current_];
}

// True if this record is next to the previous one. Stores the direction.
bool Scanner::Course::IsNeighbour(const format::BlobIndex& reference) {
  const uint64_t reference_end = reference.offset + reference.bytes;
  const uint64_t last_end = last.offset + last.bytes;
  const bool is_after = reference.offset >= last_end && reference.offset - last_end <= kGapBytesMax;
  const bool is_before = reference_end <= last.offset && last.offset - reference_end <= kGapBytesMax;
  const bool is_neighbour = last.bytes > 0 && (is_after || is_before);
  last = reference;
  if (!is_neighbour) window_bytes = kWindowBytesFirst;
  is_forward = is_after;
  return is_neighbour;
}

Status Scanner::ReadRecord(Course* course, const format::BlobIndex& reference, std::string_view* record) {
  const bool is_neighbour = course->IsNeighbour(reference), is_large = reference.bytes >= kWindowBytesMax / 4;
  if (!course->Has(reference) && !is_neighbour && !is_first_ && !is_large) scattered_bytes_ += reference.bytes;
  if (limits_.reads_in_place) *record = course->reader->InPlace(reference.offset, reference.bytes);
  is_in_place_ = !record->empty();
  if (is_in_place_) return {};
  // A large record is a large read by itself, so it does not use the window.
  if (!course->Has(reference) && (!is_neighbour || is_large)) return ReadSingle(course, reference, record);
  if (!course->Has(reference)) RETURN_IF_ERROR(course->Refill(reference, limits_.window_bytes / courses_.size()));
  *record = {course->window.data() + (reference.offset - course->begin), reference.bytes};
  return {};
}

// Reads the record and the bytes after it in the direction of the scan.
Status Scanner::Course::Refill(const format::BlobIndex& reference, size_t window_bytes_max) {
  const uint64_t bytes_all = reader->meta().record_bytes;
  const uint64_t bytes = std::max<uint64_t>(std::min(window_bytes, window_bytes_max), reference.bytes);
  begin = end = 0;  // after an error the window is empty
  if (window.size() < bytes || window.size() > 2 * bytes) window = env::AlignedBuffer(static_cast<size_t>(bytes));
  const uint64_t reference_end = reference.offset + reference.bytes;
  const uint64_t first = is_forward ? reference.offset : reference_end - std::min(reference_end, bytes);
  const uint64_t last_byte = is_forward ? std::min(bytes_all, first + bytes) : reference_end;
  RETURN_IF_ERROR(reader->ReadAt(first, static_cast<size_t>(last_byte - first), false, window.data()));
  begin = first;
  end = last_byte;
  window_bytes = std::min(2 * window_bytes, kWindowBytesMax);
  // WHY not forward: there the system reads ahead by itself.
  if (!is_forward && begin > 0) {
    const uint64_t next_bytes = std::min<uint64_t>(begin, std::min(window_bytes, window_bytes_max));
    reader->WillRead(begin - next_bytes, next_bytes);
  }
  return {};
}

}  // namespace mergedb::blob
