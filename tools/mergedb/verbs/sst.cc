// The verb sst: one table. It changes nothing.
#include <algorithm>

#include "file_report.h"
#include "format/file_name.h"

namespace mergedb::tool::sst_verb {
namespace {

using Arguments = ScanArguments;

std::string ShowReference(const format::BlobIndex& reference) {
  return format::PrintFileName(format::FileKind::kBlobFile, reference.file) + " offset " +
         std::to_string(reference.offset) + ", " + std::to_string(reference.bytes) + " bytes";
}

void PrintEntry(const Arguments& arguments, const kv::Entry& entry) {
  format::BlobIndex reference;
  const bool is_reference =
      kv::KindOf(entry.tag) == kv::Kind::kPutBlobIndex && format::DecodeBlobIndex(entry.value, &reference).ok();
  if (!arguments.is_json) {
    Print(ShowVersion(arguments, entry.key, entry.tag));
    if (!arguments.is_keys_only) {
      Print("\t");
      Print(is_reference ? ShowReference(reference) : ShowBytes(arguments, entry.value));
    }
    return Print("\n");
  }
  nlohmann::ordered_json line;
  SetBytes(arguments, &line, "key", entry.key);
  line["sequence"] = kv::SequenceOf(entry.tag);
  line["kind"] = kv::KindName(kv::KindOf(entry.tag));
  if (is_reference) {
    line["blob_file"] = kv::ToInt(reference.file);
    line["offset"] = reference.offset;
    line["bytes"] = reference.bytes;
  } else if (!arguments.is_keys_only) {
    SetBytes(arguments, &line, "value", entry.value);
  }
  PrintJson(line);
}

void PrintRangeTombstones(const Arguments& arguments, const kv::RangeTombstones& ranges, Selection* selection) {
  for (size_t i = 0; i < ranges.size(); ++i) {
    for (const kv::Sequence sequence : ranges.sequences(i)) {
      if (!selection->TakesRange(ranges.begin(i), ranges.end(i))) continue;
      if (arguments.is_json) {
        nlohmann::ordered_json line;
        SetBytes(arguments, &line, "key", ranges.begin(i));
        line["sequence"] = sequence;
        line["kind"] = kv::KindName(kv::Kind::kRangeDelete);
        SetBytes(arguments, &line, "end", ranges.end(i));
        PrintJson(line);
      } else {
        Print(ShowVersion(arguments, ranges.begin(i), kv::MakeTag(sequence, kv::Kind::kRangeDelete)) + "\t" +
              ShowBytes(arguments, ranges.end(i)) + "\n");
      }
    }
  }
}

void PrintBlocks(const Arguments& arguments, const std::vector<repair::TableBlock>& blocks) {
  if (!arguments.is_json) Print("offset\tbytes\traw bytes\tcodec\tkeys up to\n");
  for (const repair::TableBlock& block : blocks) {
    const std::string codec = block.is_whole ? CodecName(block.codec) : "damaged";
    if (arguments.is_json) {
      nlohmann::ordered_json line = {
          {"offset", block.offset}, {"bytes", block.bytes}, {"raw_bytes", block.raw_bytes}, {"codec", codec}};
      SetBytes(arguments, &line, "fence", block.fence);
      PrintJson(line);
    } else {
      Print(std::to_string(block.offset) + "\t" + std::to_string(block.bytes) + "\t" + std::to_string(block.raw_bytes) +
            "\t" + codec + "\t" + ShowBytes(arguments, block.fence) + "\n");
    }
  }
}

void SetBlocks(nlohmann::ordered_json* report, const std::vector<repair::TableBlock>& blocks) {
  uint64_t bytes_max = 0, raw_bytes = 0;
  nlohmann::ordered_json codecs = nlohmann::ordered_json::object();
  for (const repair::TableBlock& block : blocks) {
    bytes_max = std::max(bytes_max, block.bytes);
    raw_bytes += block.raw_bytes;
    const std::string codec = block.is_whole ? CodecName(block.codec) : "damaged";
    codecs[codec] = codecs.value(codec, uint64_t{0}) + 1;
  }
  (*report)["blocks"] = blocks.size();
  if (blocks.empty()) return;
  (*report)["block_bytes_max"] = bytes_max;
  (*report)["raw_bytes_of_blocks"] = raw_bytes;
  (*report)["compression"] = std::move(codecs);
}

void SetFooter(nlohmann::ordered_json* report, const repair::TableReport& table) {
  const format::Footer& footer = *table.footer;
  (*report)["format_version"] = footer.range_tombstone_bytes == 0 ? 1 : 2;
  (*report)["unique_id"] = footer.unique_id;
  (*report)["data_bytes"] = footer.data_bytes;
  (*report)["index_bytes"] = footer.index_bytes;
  (*report)["filter_bytes"] = footer.filter_bytes;
  const bool has_bloom = footer.filter_bytes > 0 && (!table.properties || table.properties->filter_policy.empty());
  if (has_bloom && table.found.entries > 0)
    (*report)["filter_bits_per_entry"] = 8.0 * double(footer.filter_bytes) / double(table.found.entries);
  (*report)["range_tombstone_bytes"] = footer.range_tombstone_bytes;
  (*report)["properties_bytes"] = footer.properties_bytes;
  (*report)["padding_bytes"] = footer.file_bytes - format::kFooterBytes - footer.sections_end();
}

nlohmann::ordered_json ReportOf(const Arguments& arguments, const repair::TableReport& table) {
  nlohmann::ordered_json report = BeginReport(table.file, "table");
  const format::FileMeta& found = table.found;
  report["entries"] = found.entries;
  SetKinds(&report, table.kinds);
  if (table.properties) report["tombstones"] = table.properties->meta.tombstones;
  report["range_tombstones"] = found.range_tombstones;
  if (found.entries + found.range_tombstones > 0) {
    SetBytes(arguments, &report, "smallest_key", found.smallest);
    SetBytes(arguments, &report, "largest_key", found.largest);
    if (found.largest_is_open) report["largest_key_is_exclusive"] = true;
    report["smallest_sequence"] = found.smallest_sequence;
    report["largest_sequence"] = found.largest_sequence;
  }
  report["key_bytes"] = table.key_bytes;
  report["value_bytes"] = table.value_bytes;
  nlohmann::ordered_json uses = nlohmann::ordered_json::array();
  for (const auto& [number, use] : table.blob_files)
    uses.push_back({{"blob_file", kv::ToInt(number)}, {"references", use.references}, {"bytes", use.bytes}});
  if (!uses.empty()) report["blob_references"] = std::move(uses);
  SetBlocks(&report, table.blocks);
  if (table.footer) SetFooter(&report, table);
  if (!table.properties) return report;
  report["comparator"] = table.properties->comparator;
  if (!table.properties->filter_policy.empty()) report["filter_policy"] = table.properties->filter_policy;
  report["writer"] = table.properties->writer;
  report["compacted_ranges"] = table.properties->compacted_ranges.size();
  return report;
}

int Run(Arguments& arguments) {
  Selection selection(arguments);
  const bool is_scan = arguments.is_scan;
  const auto table = repair::InspectTable(Files(), arguments.path, [&](const kv::Entry& entry) {
    if (is_scan && selection.Takes(entry.key)) PrintEntry(arguments, entry);
    return Status();
  });
  if (!table) return Fail(table.error());
  if (is_scan) PrintRangeTombstones(arguments, table->range_tombstones, &selection);
  if (arguments.is_parts) PrintBlocks(arguments, table->blocks);
  return PrintReport(arguments, ReportOf(arguments, *table), table->file);
}

}  // namespace

void Add(Command& command) {
  const auto [verb, arguments] = AddVerb(
      command,
      {.usage = "sst FILE [--check | --scan | --blocks] [--json] [--hex]",
       .description = "Check a table (sorted string table, NNNNNN.tbl) and print a summary or its entries",
       .footer =
           "A scan prints KEY#SEQUENCE,KIND, a tab and the value. The value of RANGE_DELETE is the end of the range.\n"
           "Keys of a named keyspace begin with the prefix of the keyspace.\n"
           "Exit code 1 if the file is damaged. The database may be open.\n"
           "Examples:\n"
           "  mergedb sst /srv/data/000012.tbl\n"
           "  mergedb sst 000012.tbl --scan --from apple --to banana --limit 10",
       .takes = Takes::kFile},
      Run);
  AddScanOptions(verb, arguments, "Print the entries, then the range tombstones");
  AddParts(verb, arguments, "--blocks", "Print offset, sizes, codec and last key bound of each block");
}

}  // namespace mergedb::tool::sst_verb
