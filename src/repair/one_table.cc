// Inspects one table. table::Salvage reads and checks it; the parts of the file are read here once more, for the
// report.
#include <set>
#include <utility>

#include "base/bytes.h"
#include "base/coding.h"
#include "env/file_reads.h"
#include "format/compression.h"
#include "format/index.h"
#include "repair/one_file.h"
#include "repair/one_file_parts.h"
#include "table/salvage.h"

namespace mergedb::repair {
namespace {

class TableInspector {
 public:
  TableInspector(FileSystem* file_system, const std::string& path) : file_system_(file_system), path_(path) {}
  Result<TableReport> Run(const VisitEntry& visit);

 private:
  Status ReadParts();
  Status ReadBlocks();
  Status ReadBlock(TableBlock* block);
  Status Visit(const kv::Entry& entry, const VisitEntry& visit);
  // Corruption leaves *payload as it is. Salvage reports the damage.
  Status ReadPart(uint64_t offset, uint64_t bytes, std::string* payload);

  FileSystem* const file_system_;
  const std::string& path_;
  std::unique_ptr<File> file_;
  TableReport report_;
  const kv::Order order_{BytewiseComparator()};
  std::set<std::pair<uint64_t, uint64_t>> flaws_;  // offset and bytes of each
};

Result<TableReport> TableInspector::Run(const VisitEntry& visit) {
  ASSIGN_OR_RETURN(file_, OpenOneFile(file_system_, path_, OneFileKind::kTable, &report_.file));
  if (const Status status = ReadParts(); IsFailure(status)) return status.WithContext(path_);
  if (report_.properties && report_.properties->comparator != order_.comparator()->Name()) {
    return Status::NotSupported(
        path_ + ": its keys are in the order of the comparator \"" + base::Escape(report_.properties->comparator) +
        "\", which only the program that made it has; expected \"" + std::string(order_.comparator()->Name()) + "\"");
  }
  if (report_.properties) TakeNumber(report_.properties->meta.number, &report_.file);
  const auto look = [&](const kv::Entry& entry) { return Visit(entry, visit); };
  ASSIGN_OR_RETURN(auto salvaged, table::Salvage({.file_system = file_system_,
                                                  .path = path_,
                                                  .number = report_.file.number.value_or(kv::FileNumber{}),
                                                  .order = order_},
                                                 look));
  for (table::Flaw& flaw : salvaged.flaws) {
    Damage& damage = Report(&report_.file, flaw.offset, flaw.bytes, flaw.what);
    damage.loses_entries = flaw.loses_entries;
    damage.smallest_key = std::move(flaw.smallest);
    damage.largest_key = std::move(flaw.largest);
    flaws_.emplace(flaw.offset, flaw.bytes);
  }
  report_.found = std::move(salvaged.found);
  report_.range_tombstones = std::move(salvaged.range_tombstones);
  if (const Status status = ReadBlocks(); IsFailure(status)) return status.WithContext(path_);
  return std::move(report_);
}

Status TableInspector::ReadPart(uint64_t offset, uint64_t bytes, std::string* payload) {
  std::string stored(static_cast<size_t>(bytes), '\0');
  RETURN_IF_ERROR(env::ReadExactly(file_.get(), offset, stored.size(), stored.data()));
  format::Part part;
  RETURN_IF_ERROR(format::OpenPart(stored, {.unique_id = report_.footer->unique_id, .offset = offset}, true, &part));
  *payload = part.payload;
  return {};
}

Status TableInspector::ReadParts() {
  if (report_.file.bytes < format::kFooterBytes) return {};
  char bytes[format::kFooterBytes];
  RETURN_IF_ERROR(env::ReadExactly(file_.get(), report_.file.bytes - sizeof bytes, sizeof bytes, bytes));
  format::Footer footer;
  RETURN_IF_ERROR(format::DecodeFooter({bytes, sizeof bytes}, report_.file.bytes, &footer));
  report_.footer = footer;
  std::string payload;
  RETURN_IF_ERROR(ReadPart(footer.properties_offset(), footer.properties_bytes, &payload));
  format::Properties properties;
  RETURN_IF_ERROR(format::DecodeProperties(payload, &properties));
  report_.properties = std::move(properties);
  return {};
}

Status TableInspector::ReadBlocks() {
  if (!report_.footer || report_.footer->index_bytes == 0) return {};
  std::string payload;
  RETURN_IF_ERROR(ReadPart(report_.footer->index_offset(), report_.footer->index_bytes, &payload));
  format::Index index;
  RETURN_IF_ERROR(index.Decode(payload, report_.footer->data_bytes, order_));
  for (uint32_t i = 0; i < index.count(); ++i) {
    TableBlock block{.offset = index.offset(i), .bytes = index.stored_bytes(i), .fence = index.fence(i)};
    block.is_whole = !flaws_.contains({block.offset, block.bytes});
    if (block.is_whole) RETURN_IF_ERROR(ReadBlock(&block));
    report_.blocks.push_back(std::move(block));
  }
  return {};
}

Status TableInspector::ReadBlock(TableBlock* block) {
  char codec = 0, raw[4];
  // A smaller block has not passed the checks of Salvage: the file has changed since.
  if (block->bytes < format::kTrailerBytes + sizeof raw) return Status::Corruption("block is too small");
  RETURN_IF_ERROR(env::ReadExactly(file_.get(), block->offset + block->bytes - format::kTrailerBytes, 1, &codec));
  block->codec = static_cast<Compression>(codec);
  block->raw_bytes = block->bytes - format::kTrailerBytes;
  if (block->codec == Compression::kNone) return {};
  RETURN_IF_ERROR(env::ReadExactly(file_.get(), block->offset, sizeof raw, raw));
  block->raw_bytes = base::LoadFixed32(raw);
  return {};
}

Status TableInspector::Visit(const kv::Entry& entry, const VisitEntry& visit) {
  const kv::Kind kind = kv::KindOf(entry.tag);
  if (kind <= kv::kKindMax) ++report_.kinds[static_cast<size_t>(kind)];
  report_.key_bytes += entry.key.size();
  report_.value_bytes += entry.value.size();
  if (kind == kv::Kind::kPutBlobIndex) {
    format::BlobIndex reference;
    if (const Status status = format::DecodeBlobIndex(entry.value, &reference); status.ok()) {
      BlobUse& use = report_.blob_files[reference.file];
      ++use.references;
      use.bytes += reference.bytes;
    } else {
      Report(&report_.file, 0, 0, kv::PrintKey(entry.key, entry.tag) + ": " + std::string(status.message()));
    }
  }
  return visit ? visit(entry) : Status();
}

}  // namespace

Result<TableReport> InspectTable(FileSystem* file_system, const std::string& path, const VisitEntry& visit) {
  return InspectHeld(file_system, path, [&](FileSystem* held, bool is_first) {
    return TableInspector(held, path).Run(is_first ? visit : VisitEntry());
  });
}

}  // namespace mergedb::repair
