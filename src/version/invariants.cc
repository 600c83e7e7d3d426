#include "version/invariants.h"

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

bool EndsBefore(const kv::Order& order, const VirtualTable& a, const VirtualTable& b) {
  return a.IsBefore(order, b.smallest());
}

}  // namespace

Status CheckPositionsDescend(const Version& version) {
  for (size_t i = 0; i < version.runs().size(); ++i) {
    const Run& run = *version.runs()[i];
    if (run.virtual_tables().empty()) return Broken("I2", NameOf(run), "has no virtual tables");
    if (i > 0 && version.runs()[i - 1]->position() <= run.position()) {
      return Broken("I2", NameOf(run), "is not below the run before it");
    }
  }
  return Status::Ok();
}

Status CheckVirtualTablesDisjoint(const kv::Order& order, const Run& run) {
  for (size_t i = 1; i < run.virtual_tables().size(); ++i) {
    if (!EndsBefore(order, run.virtual_tables()[i - 1], run.virtual_tables()[i])) {
      return Broken("I3", NameOf(run),
                    NameOf(*run.virtual_tables()[i].file) + " at '" + base::Escape(run.virtual_tables()[i].smallest()) +
                        "' overlaps " + NameOf(*run.virtual_tables()[i - 1].file));
    }
  }
  return Status::Ok();
}

Status CheckVirtualTablesClipped(const kv::Order& order, const Run& run) {
  for (const VirtualTable& virtual_table : run.virtual_tables()) {
    const auto clipped = Clip(order, virtual_table.file, virtual_table.bounds);
    if (!clipped || clipped->bounds != virtual_table.bounds) {
      return Broken("I4", NameOf(run), "bounds do not fit " + NameOf(*virtual_table.file));
    }
  }
  return Status::Ok();
}

Status CheckFile(const kv::Order& order, const format::FileMeta& file) {
  const int limits = order.CompareKeys(file.smallest, file.largest);
  if (limits > 0 || (limits == 0 && file.largest_is_open)) {
    return Broken(
        "I5", NameOf(file),
        "smallest key '" + base::Escape(file.smallest) + "' is after largest '" + base::Escape(file.largest) + "'");
  }
  if (file.smallest_sequence > file.largest_sequence || file.largest_sequence > kv::kSequenceMax) {
    return Broken("I5", NameOf(file),
                  "sequences " + std::to_string(file.smallest_sequence) + ".." + std::to_string(file.largest_sequence));
  }
  if (file.entries == 0 && file.range_tombstones == 0)
    return Broken("I5", NameOf(file), "has no entries and no range tombstones");
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
  std::vector<const VirtualTable*> virtual_tables;
  for (const RunPtr& run : version.runs()) {
    for (const VirtualTable& virtual_table : run->virtual_tables()) virtual_tables.push_back(&virtual_table);
  }
  base::HeapSort(virtual_tables.begin(), virtual_tables.end(), [&](const VirtualTable* a, const VirtualTable* b) {
    if (a->file->number != b->file->number) return a->file->number < b->file->number;
    return order.CompareKeys(a->smallest(), b->smallest()) < 0;
  });
  for (size_t i = 1; i < virtual_tables.size(); ++i) {
    const VirtualTable& previous = *virtual_tables[i - 1];
    const VirtualTable& virtual_table = *virtual_tables[i];
    if (previous.file->number != virtual_table.file->number) continue;
    if (previous.file != virtual_table.file && *previous.file != *virtual_table.file) {
      return Broken("I6", NameOf(*virtual_table.file), "two different descriptions");
    }
    if (!EndsBefore(order, previous, virtual_table)) {
      return Broken("I6", NameOf(*virtual_table.file),
                    "key '" + base::Escape(virtual_table.smallest()) + "' is in two virtual tables");
    }
  }
  return Status::Ok();
}

Status CheckBlobFilesThere(const Version& version) {
  if (const kv::FileNumber missing = version.missing_blob_file(); missing != kv::FileNumber{}) {
    return Broken("I7", "blob file " + std::to_string(kv::ToInt(missing)),
                  "a table refers to it, but no VersionEdit has added it");
  }
  for (const auto& table : version.file_metas()) {
    if (version.FindBlobFile(table->number) != nullptr)
      return Broken("I7", NameOf(*table), "a blob file has the same number");
    for (const format::BlobShare& share : table->values) {
      const uint64_t bytes_max = version.FindBlobFile(share.file)->record_bytes;
      if (share.bytes <= bytes_max) continue;
      return Broken("I7", NameOf(*table),
                    "refers to " + std::to_string(share.bytes) + " bytes of blob file " +
                        std::to_string(kv::ToInt(share.file)) + ", which has " + std::to_string(bytes_max));
    }
  }
  return Status::Ok();
}

Status CheckInvariants(const kv::Order& order, const Version& version) {
  RETURN_IF_ERROR(CheckPositionsDescend(version));
  for (const RunPtr& run : version.runs()) {
    for (const VirtualTable& virtual_table : run->virtual_tables())
      RETURN_IF_ERROR(CheckFile(order, *virtual_table.file));
    RETURN_IF_ERROR(CheckVirtualTablesClipped(order, *run));
    RETURN_IF_ERROR(CheckVirtualTablesDisjoint(order, *run));
  }
  RETURN_IF_ERROR(CheckFilesShownOnce(order, version));
  return CheckBlobFilesThere(version);
}

}  // namespace mergedb::version
