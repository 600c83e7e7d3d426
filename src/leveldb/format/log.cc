#include "leveldb/format/log.h"

#include <algorithm>

#include "base/coding.h"
#include "base/crc32c.h"

namespace mergedb::leveldb_format {
namespace {

enum : uint8_t { kPreallocated = 0, kFull = 1, kFirst = 2, kMiddle = 3, kLast = 4 };
constexpr uint32_t kMaskDelta = 0xa282ead8u;

}  // namespace

uint32_t MaskCrc(uint32_t crc) { return (crc >> 15 | crc << 17) + kMaskDelta; }

uint32_t UnmaskCrc(uint32_t masked) {
  const uint32_t rotated = masked - kMaskDelta;
  return rotated >> 17 | rotated << 15;
}

// ---- writing --------------------------------------------------------------------------------------------------------

void LogWriter::Append(std::string_view record, std::string* out) {
  bool is_first = true;
  do {
    const size_t left = kLogBlockBytes - block_offset_;
    if (left < kFragmentHeaderBytes) {
      out->append(left, '\0');
      block_offset_ = 0;
    }
    const size_t taken = std::min(record.size(), kLogBlockBytes - block_offset_ - kFragmentHeaderBytes);
    const bool is_last = taken == record.size();
    AppendFragment(is_first ? (is_last ? kFull : kFirst) : (is_last ? kLast : kMiddle), record.substr(0, taken), out);
    record.remove_prefix(taken);
    is_first = false;
    if (is_last) return;
  } while (true);
}

void LogWriter::AppendFragment(uint8_t type, std::string_view payload, std::string* out) {
  char header[kFragmentHeaderBytes];
  header[6] = static_cast<char>(type);
  base::StoreFixed16(header + 4, static_cast<uint16_t>(payload.size()));
  base::StoreFixed32(header,
                     MaskCrc(base::Crc32cExtend(base::Crc32c({header + 6, 1}), payload.data(), payload.size())));
  out->append(header, sizeof header).append(payload);
  block_offset_ += kFragmentHeaderBytes + payload.size();
}

// ---- reading --------------------------------------------------------------------------------------------------------

bool LogReader::Next(std::string_view* record) {
  Fragment fragment;
  while (NextFragment(&fragment)) {
    const bool begins = fragment.type == kFull || fragment.type == kFirst;
    // Old LevelDB versions write an empty first part where exactly a header fits, and begin again in the next block.
    if (begins && in_partial_ && !partial_.empty()) DropPartial("a record begins before the one before it ended");
    if (!begins && !in_partial_) {
      on_damage_(fragment.offset, kFragmentHeaderBytes + fragment.payload.size(),
                 "a part of a record without its beginning");
      continue;
    }
    if (begins) {
      in_partial_ = true;
      partial_.clear();
      partial_offset_ = fragment.offset;
    }
    if (fragment.type == kFull) {
      in_partial_ = false;
      record_offset_ = fragment.offset;
      *record = fragment.payload;
      return true;
    }
    partial_.append(fragment.payload);
    if (fragment.type == kLast) {
      in_partial_ = false;
      record_offset_ = partial_offset_;
      *record = partial_;
      return true;
    }
  }
  return false;
}

bool LogReader::NextFragment(Fragment* fragment) {
  while (true) {
    if (!has_block_ || block_.size() - at_ < kFragmentHeaderBytes) {
      if (is_last_ || !ReadBlock()) {  // a header cut short is a clean end
        is_cut_short_ |= at_ < block_.size() || (in_partial_ && !partial_.empty());
        return false;
      }
      continue;
    }
    const char* const header = block_.data() + at_;
    const size_t bytes = base::LoadFixed16(header + 4);
    const auto type = static_cast<uint8_t>(header[6]);
    const size_t left = block_.size() - at_ - kFragmentHeaderBytes;
    const bool is_zero = type == kPreallocated && bytes == 0;
    if (is_zero && block_.find_first_not_of('\0', at_) == std::string::npos) {
      if (!hole_begin_) hole_begin_ = block_begin_ + at_;
      at_ = block_.size();
      continue;
    }
    TellHole();
    if (is_zero) {
      SkipBlock("zeros before other bytes");
      continue;
    }
    if (bytes > left) {
      if (is_last_ && !HasWholeFragmentBehind()) {
        is_cut_short_ = true;
        return false;
      }
      SkipBlock("a length that goes beyond the block");
      continue;
    }
    const uint32_t expected = UnmaskCrc(base::LoadFixed32(header));
    if (base::Crc32cExtend(0, header + 6, 1 + bytes) != expected) {
      SkipBlock("checksum");
      continue;
    }
    *fragment = {.type = type, .payload = {header + kFragmentHeaderBytes, bytes}, .offset = block_begin_ + at_};
    at_ += kFragmentHeaderBytes + bytes;
    if (type >= kFull && type <= kLast) return true;
    on_damage_(fragment->offset, kFragmentHeaderBytes + bytes, "a fragment of an unknown type");
    DropPartial("a fragment of an unknown type within");
  }
}

bool LogReader::ReadBlock() {
  if (has_block_) block_begin_ += kLogBlockBytes;
  has_block_ = true;
  block_.resize(kLogBlockBytes);
  at_ = 0;
  size_t got = 0;
  if (status_.ok()) status_ = read_(block_begin_, block_.size(), block_.data(), &got);
  block_.resize(status_.ok() ? got : 0);
  is_last_ = block_.size() < kLogBlockBytes;
  return !block_.empty();
}

bool LogReader::IsWholeFragment(size_t at) const {
  const char* const header = block_.data() + at;
  const size_t bytes = base::LoadFixed16(header + 4);
  const auto type = static_cast<uint8_t>(header[6]);
  return type >= kFull && type <= kLast && bytes <= block_.size() - at - kFragmentHeaderBytes &&
         base::Crc32cExtend(0, header + 6, 1 + bytes) == UnmaskCrc(base::LoadFixed32(header));
}

bool LogReader::HasWholeFragmentBehind() {
  if (probes_left_ == 0) return true;  // a torn tail has few errors, a damaged file has many
  --probes_left_;
  for (size_t at = at_ + 1; at + kFragmentHeaderBytes <= block_.size(); ++at) {
    if (IsWholeFragment(at)) return true;
  }
  return false;
}

void LogReader::SkipBlock(std::string_view why) {
  passed_over_whole_ = HasWholeFragmentBehind();
  on_damage_(block_begin_ + at_, block_.size() - at_, why);
  passed_over_whole_ = false;
  at_ = block_.size();
  DropPartial("the rest of the record is damaged");
}

// Reports the zeros before `at_` as damage, since other bytes follow them: a write was lost. Zeros at the end of
// the file are preallocated space.
void LogReader::TellHole() {
  if (!hole_begin_) return;
  passed_over_whole_ = IsWholeFragment(at_) || HasWholeFragmentBehind();
  on_damage_(*hole_begin_, block_begin_ + at_ - *hole_begin_, "zeros before other bytes");
  passed_over_whole_ = false;
  hole_begin_.reset();
  DropPartial("the rest of the record is damaged");
}

void LogReader::DropPartial(std::string_view why) {
  if (in_partial_ && !partial_.empty()) on_damage_(partial_offset_, partial_.size(), why);
  in_partial_ = false;
  partial_.clear();
}

}  // namespace mergedb::leveldb_format
