#include "version/invariants.h"

#include <algorithm>
#include <string>

#include "base/bytes.h"
#include "base/heap_sort.h"

namespace mergedb::version {

namespace {

std::string NameOf(const format::FileMeta& file) { return "table " + std::to_string(kv::ToInt(file.number)); }
std::string NameOf(const Run& run) { return "run at position " + std::to_string(kv::ToInt(run.position())); }

Status Broken(std::string_view label, const std::string& where, std::string_view what) {
  return Status::Corruption(std::string(label) + " broken: " + where + ": " + std::string(what));
}

// `a` ends before `b` begins.
bool EndsBefore(const kv::Order& order, const Slice& a, const Slice& b) { return a.IsBefore(order, b.smallest()); }

}  // namespace

Status CheckPositionsDescend(const Version& version) {
  for (size_t i = 0; i < version.runs().size(); ++i) {
    const Run& run = *version.runs()[i];
    if (run.slices().empty()) return Broken("I2", NameOf(run), "shows nothing");
    if (i > 0 && version.runs()[i - 1]->position() <= run.position()) {
      return Broken("I2", NameOf(run), "does not stand below the run before it");
    }
  }
  return Status::Ok();
}

Status CheckSlicesDisjoint(const kv::Order& order, const Run& run) {
  for (size_t i = 1; i < run.slices().size(); ++i) {
    if (!EndsBefore(order, run.slices()[i - 1], run.slices()[i])) {
      return Broken("I3", NameOf(run),
                    NameOf(*run.slices()[i].file) + " at '" + base::Escape(run.slices()[i].smallest()) +
                        "' overlaps " + NameOf(*run.slices()[i - 1].file));
    }
  }
  return Status::Ok();
}

Status CheckSlicesClipped(const kv::Order& order, const Run& run) {
  for (const Slice& slice : run.slices()) {
    const auto clipped = Clip(order, slice.file, slice.bounds);
    if (!clipped || clipped->bounds != slice.bounds) {
      return Broken("I4", NameOf(run), "bounds do not fit " + NameOf(*slice.file));
    }
  }
  return Status::Ok();
}

Status CheckFile(const kv::Order& order, const format::FileMeta& file) {
  const int limits = order.CompareKeys(file.smallest, file.largest);
  if (limits > 0 || (limits == 0 && file.largest_is_open)) {
    return Broken("I5", NameOf(file),
                  "smallest key '" + base::Escape(file.smallest) + "' is after largest '" + base::Escape(file.largest) + "'");
  }
  if (file.smallest_sequence > file.largest_sequence || file.largest_sequence > kv::kSequenceMax) {
    return Broken("I5", NameOf(file), "sequences " + std::to_string(file.smallest_sequence) + ".." +
                                          std::to_string(file.largest_sequence));
  }
  if (file.entries == 0 && file.range_tombstones == 0) return Broken("I5", NameOf(file), "holds nothing");
  if (file.largest_is_open && file.range_tombstones == 0) {
    return Broken("I5", NameOf(file), "its largest key is not included, without a range tombstone");
  }
  if (file.tombstones > file.entries) {
    return Broken("I5", NameOf(file),
                  std::to_string(file.tombstones) + " tombstones in " + std::to_string(file.entries) + " entries");
  }
  return Status::Ok();
}

Status CheckFilesShownOnce(const kv::Order& order, const Version& version) {
  std::vector<const Slice*> slices;
  for (const RunPtr& run : version.runs()) {
    for (const Slice& slice : run->slices()) slices.push_back(&slice);
  }
  base::HeapSort(slices.begin(), slices.end(), [&](const Slice* a, const Slice* b) {
    if (a->file->number != b->file->number) return a->file->number < b->file->number;
    return order.CompareKeys(a->smallest(), b->smallest()) < 0;
  });
  for (size_t i = 1; i < slices.size(); ++i) {
    const Slice& previous = *slices[i - 1];
    const Slice& slice = *slices[i];
    if (previous.file->number != slice.file->number) continue;
    if (previous.file != slice.file && *previous.file != *slice.file) {
      return Broken("I6", NameOf(*slice.file), "one number, two descriptions");
    }
    if (!EndsBefore(order, previous, slice)) {
      return Broken("I6", NameOf(*slice.file), "key '" + base::Escape(slice.smallest()) + "' is shown twice");
    }
  }
  return Status::Ok();
}

Status CheckValueFilesThere(const Version& version) {
  if (const kv::FileNumber missing = version.missing_value_file(); missing != kv::FileNumber{}) {
    return Broken("I7", "value file " + std::to_string(kv::ToInt(missing)), "a table refers to it, and no edit added it");
  }
  for (const auto& table : version.file_metas()) {
    if (version.FindValueFile(table->number) != nullptr) return Broken("I7", NameOf(*table), "a value file has its number");
    for (const format::ValueShare& share : table->values) {
      const uint64_t bytes_max = version.FindValueFile(share.file)->record_bytes;
      if (share.bytes <= bytes_max) continue;
      return Broken("I7", NameOf(*table), "refers to " + std::to_string(share.bytes) + " bytes of value file " +
                                              std::to_string(kv::ToInt(share.file)) + ", which has " + std::to_string(bytes_max));
    }
  }
  return Status::Ok();
}

Status CheckInvariants(const kv::Order& order, const Version& version) {
  RETURN_IF_ERROR(CheckPositionsDescend(version));
  for (const RunPtr& run : version.runs()) {
    for (const Slice& slice : run->slices()) RETURN_IF_ERROR(CheckFile(order, *slice.file));
    RETURN_IF_ERROR(CheckSlicesClipped(order, *run));
    RETURN_IF_ERROR(CheckSlicesDisjoint(order, *run));
  }
  RETURN_IF_ERROR(CheckFilesShownOnce(order, version));
  return CheckValueFilesThere(version);
}

}  // namespace mergedb::version
