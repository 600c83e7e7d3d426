// The verb blob: one blob file. It changes nothing.
#include "file_report.h"

namespace mergedb::tool::blob_verb {
namespace {

using Arguments = ScanArguments;

void PrintValue(const Arguments& arguments, const repair::BlobValue& value) {
  if (arguments.is_json) {
    nlohmann::ordered_json line = {{"offset", value.offset}, {"bytes", value.bytes}, {"codec", CodecName(value.codec)}};
    SetBytes(arguments, &line, "key", value.key);
    if (!arguments.is_keys_only) SetBytes(arguments, &line, "value", value.value);
    return PrintJson(line);
  }
  Print(std::to_string(value.offset) + "\t" + ShowBytes(arguments, value.key));
  if (!arguments.is_keys_only) Print("\t" + ShowBytes(arguments, value.value));
  Print("\n");
}

nlohmann::ordered_json ReportOf(const Arguments& arguments, const repair::BlobFileReport& blob) {
  nlohmann::ordered_json report = BeginReport(blob.file, "blob file");
  report["records"] = blob.records;
  if (blob.records > 0) {
    SetBytes(arguments, &report, "smallest_key", *blob.smallest_key);
    SetBytes(arguments, &report, "largest_key", *blob.largest_key);
  }
  report["key_bytes"] = blob.key_bytes;
  report["value_bytes"] = blob.value_bytes;
  report["value_bytes_max"] = blob.value_bytes_max;
  report["stored_bytes"] = blob.stored_bytes;
  nlohmann::ordered_json codecs = nlohmann::ordered_json::object();
  for (const auto& [codec, count] : blob.codecs) codecs[CodecName(codec)] = count;
  report["compression"] = std::move(codecs);
  if (!blob.footer) return report;
  report["format_version"] = format::kBlobFileVersion;
  report["unique_id"] = blob.footer->unique_id;
  report["record_bytes"] = blob.footer->record_bytes;
  report["padding_bytes"] = blob.footer->bytes - format::kBlobFooterBytes - blob.footer->record_bytes;
  return report;
}

int Run(Arguments& arguments) {
  Selection selection(arguments);
  const auto blob = repair::InspectBlobFile(Files(), arguments.path, [&](const repair::BlobValue& value) {
    if (arguments.is_scan && selection.Takes(value.key)) PrintValue(arguments, value);
    return Status();
  });
  if (!blob) return Fail(blob.error());
  return PrintReport(arguments, ReportOf(arguments, *blob), blob->file);
}

}  // namespace

void Add(Command& command) {
  const auto [verb, arguments] =
      AddVerb(command,
              {.usage = "blob FILE [--check | --scan] [--json] [--hex]",
               .description = "Check a blob file (large values, NNNNNN.val) and print a summary or its values",
               .footer = "A scan prints the offset, a tab, the key, a tab and the value, in the order of the file. The "
                         "file also has values that no table needs any more.\n"
                         "Exit code 1 if the file is damaged. The database may be open.\n"
                         "Examples:\n"
                         "  mergedb blob /srv/data/000013.val\n"
                         "  mergedb blob 000013.val --scan --keys-only --json",
               .takes = Takes::kFile},
              Run);
  AddScanOptions(verb, arguments, "Print the values");
}

}  // namespace mergedb::tool::blob_verb
