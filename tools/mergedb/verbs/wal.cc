// The verb wal: a WAL segment, or the WAL buffer. It changes nothing.
#include <utility>

#include "file_report.h"
#include "format/batch.h"

namespace mergedb::tool::wal_verb {
namespace {

using Arguments = ScanArguments;

// A frame as JSON, without its records.
nlohmann::ordered_json HeaderOf(const repair::WalFrame& frame) {
  nlohmann::ordered_json object = {{"position", frame.position}};
  if (frame.offset) object["offset"] = *frame.offset;
  object["bytes"] = frame.bytes;
  object["sequence"] = frame.sequence;
  if (!frame.is_proved) object["is_proved"] = false;
  return object;
}

void PrintRecord(const Arguments& arguments, const format::BatchReader& record, kv::Sequence sequence) {
  const bool is_range = record.kind() == kv::Kind::kRangeDelete;
  const bool has_value = is_range || (record.kind() != kv::Kind::kDelete && !arguments.is_keys_only);
  if (!arguments.is_json) {
    Print(ShowVersion(arguments, record.key(), kv::MakeTag(sequence, record.kind())));
    if (has_value) Print("\t" + ShowBytes(arguments, record.value()));
    return Print("\n");
  }
  nlohmann::ordered_json line;
  SetBytes(arguments, &line, "key", record.key());
  line["sequence"] = sequence;
  line["kind"] = kv::KindName(record.kind());
  if (has_value) SetBytes(arguments, &line, is_range ? "end" : "value", record.value());
  PrintJson(line);
}

void PrintFrame(const Arguments& arguments, const repair::WalFrame& frame, Selection* selection) {
  format::BatchReader record(frame.payload);
  for (kv::Sequence sequence = frame.sequence; record.Next(); ++sequence) {
    const bool is_taken = record.kind() == kv::Kind::kRangeDelete ? selection->TakesRange(record.key(), record.value())
                                                                  : selection->Takes(record.key());
    if (is_taken) PrintRecord(arguments, record, sequence);
  }
}

// The title comes with the first frame: a file that cannot be read has none.
void PrintHeader(const Arguments& arguments, const repair::WalFrame& frame, bool* has_title) {
  if (!arguments.is_json && !std::exchange(*has_title, true)) Print("position\toffset\tbytes\tsequence\n");
  if (arguments.is_json) return PrintJson(HeaderOf(frame));
  Print(std::to_string(frame.position) + "\t" + (frame.offset ? std::to_string(*frame.offset) : "-") + "\t" +
        std::to_string(frame.bytes) + "\t" + std::to_string(frame.sequence) +
        (frame.is_proved ? "" : "\tits checksum needs the segment before") + "\n");
}

void SetHead(nlohmann::ordered_json* report, const wal::SegmentHead& head) {
  (*report)["format_version"] = 1;
  (*report)["database_id"] = head.database_id;
  (*report)["generation"] = head.generation;
  (*report)["start_position"] = head.start;
  (*report)["capacity"] = head.capacity;
  (*report)["is_appended"] = head.is_appended;
  if (head.mark) (*report)["mark_sequence"] = head.mark->sequence;
}

nlohmann::ordered_json ReportOf(const repair::WalReport& wal) {
  nlohmann::ordered_json report = BeginReport(wal.file, wal.file.name == "STAGING" ? "WAL buffer" : "WAL segment");
  if (wal.head) SetHead(&report, *wal.head);
  report["epoch"] = wal.epoch;
  report["frames"] = wal.frames;
  report["records"] = wal.records;
  SetKinds(&report, wal.kinds);
  if (wal.records > 0) {
    report["first_sequence"] = wal.first_sequence;
    report["last_sequence"] = wal.last_sequence;
  }
  if (wal.frames > 0) {
    report["begin_position"] = wal.begin_position;
    report["end_position"] = wal.end_position;
  }
  return report;
}

int Run(Arguments& arguments) {
  Selection selection(arguments);
  bool has_title = false;
  const auto wal = repair::InspectWal(Files(), arguments.path, [&](const repair::WalFrame& frame) {
    if (arguments.is_parts) PrintHeader(arguments, frame, &has_title);
    if (arguments.is_scan) PrintFrame(arguments, frame, &selection);
    return Status();
  });
  if (!wal) return Fail(wal.error());
  return PrintReport(arguments, ReportOf(*wal), wal->file);
}

}  // namespace

void Add(Command& command) {
  const auto [verb, arguments] = AddVerb(
      command,
      {.usage = "wal FILE [--check | --scan | --frames] [--json] [--hex]",
       .description = "Check a WAL segment (NNNNNN.seg) or the WAL buffer (STAGING); print a summary or its records",
       .footer = "A scan prints KEY#SEQUENCE,KIND, a tab and the value, in the order of the writes. The value of "
                 "RANGE_DELETE is the end of the range.\n"
                 "STAGING needs CURRENT, the MANIFEST and the segments beside it; the command then reads what a replay "
                 "reads.\n"
                 "Exit code 1 if the file is damaged. The database may be open.\n"
                 "Examples:\n"
                 "  mergedb wal /srv/data/000007.seg\n"
                 "  mergedb wal /srv/data/STAGING --scan --keys-only",
       .takes = Takes::kFile},
      Run);
  AddScanOptions(verb, arguments, "Print the records");
  AddParts(verb, arguments, "--frames", "Print position, offset, size and first sequence of each frame");
}

}  // namespace mergedb::tool::wal_verb
