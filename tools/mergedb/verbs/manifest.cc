// The verb manifest: one MANIFEST. It changes nothing.
#include "file_report.h"
#include "format/file_name.h"
#include "text.h"

namespace mergedb::tool::manifest_verb {
namespace {

using Arguments = FileArguments;

using Json = nlohmann::ordered_json;

std::string NameOf(format::FileKind kind, kv::FileNumber number) { return format::PrintFileName(kind, number); }

void SetBounds(const Arguments& arguments, Json* object, const format::Bounds& bounds) {
  if (bounds.lower) SetBytes(arguments, object, "lower", *bounds.lower);
  if (bounds.upper) SetBytes(arguments, object, "upper", *bounds.upper);
}

void SetTable(const Arguments& arguments, Json* object, const format::FileMeta& table) {
  (*object)["table"] = NameOf(format::FileKind::kTable, table.number);
  (*object)["bytes"] = table.bytes;
  (*object)["entries"] = table.entries;
  (*object)["tombstones"] = table.tombstones;
  if (table.range_tombstones != 0) (*object)["range_tombstones"] = table.range_tombstones;
  SetBytes(arguments, object, "smallest_key", table.smallest);
  SetBytes(arguments, object, "largest_key", table.largest);
  (*object)["smallest_sequence"] = table.smallest_sequence;
  (*object)["largest_sequence"] = table.largest_sequence;
  for (const format::BlobShare& share : table.values)
    (*object)["blob_references"].push_back(
        {{"blob_file", NameOf(format::FileKind::kBlobFile, share.file)}, {"bytes", share.bytes}});
}

Json ToJson(const format::BlobFileMeta& file) {
  return {{"blob_file", NameOf(format::FileKind::kBlobFile, file.number)},
          {"bytes", file.bytes},
          {"records", file.records},
          {"record_bytes", file.record_bytes}};
}

// Adds what the edit sets. Null facts are left out.
void SetFacts(const Arguments& arguments, Json* object, const format::VersionEdit& facts) {
  if (facts.database_id) (*object)["database_id"] = *facts.database_id;
  if (facts.comparator) (*object)["comparator"] = *facts.comparator;
  if (facts.next_file) (*object)["next_file"] = kv::ToInt(*facts.next_file);
  if (facts.next_position) (*object)["next_position"] = kv::ToInt(*facts.next_position);
  if (facts.last_sequence) (*object)["last_sequence"] = *facts.last_sequence;
  if (facts.flushed_sequence) (*object)["flushed_sequence"] = *facts.flushed_sequence;
  if (facts.wal_start) {
    (*object)["wal_start"] = {{"epoch", facts.wal_start->epoch},
                              {"position", facts.wal_start->position},
                              {"sequence", facts.wal_start->sequence}};
  }
  if (facts.wal_durable) (*object)["wal_durable"] = *facts.wal_durable;
  if (facts.wal_segments) {
    Json names = Json::array();
    for (const kv::FileNumber number : *facts.wal_segments) names.push_back(NameOf(format::FileKind::kSegment, number));
    (*object)["wal_segments"] = std::move(names);
  }
  if (facts.clean_wal_end) (*object)["clean_wal_end"] = *facts.clean_wal_end;
  if (facts.staging_bytes) (*object)["wal_buffer_bytes"] = *facts.staging_bytes;
  if (facts.key_marker) SetBytes(arguments, object, "keyspace_prefix", *facts.key_marker);
  if (facts.merge_operators) (*object)["merge_operators"] = *facts.merge_operators;
}

Json ToJson(const Arguments& arguments, const format::VersionEdit& edit) {
  Json object = Json::object();
  for (const format::VersionEdit::Cut& cut : edit.cuts) {
    Json item = {{"position", kv::ToInt(cut.position)}};
    SetBounds(arguments, &item, cut.bounds);
    object["cuts"].push_back(std::move(item));
  }
  for (const format::VersionEdit::Add& add : edit.adds) {
    Json item = {{"position", kv::ToInt(add.position)}, {"level", add.level}};
    SetBounds(arguments, &item, add.bounds);
    SetTable(arguments, &item, *add.file);
    object["adds"].push_back(std::move(item));
  }
  for (const format::VersionEdit::SetLevel& set : edit.levels)
    object["levels"].push_back({{"position", kv::ToInt(set.position)}, {"level", set.level}});
  for (const format::VersionEdit::AddBlobFile& add : edit.blob_files) object["blob_files"].push_back(ToJson(*add.file));
  SetFacts(arguments, &object, edit);
  return object;
}

void PrintEdit(const Arguments& arguments, const format::VersionEdit& edit, uint64_t number, uint64_t bytes) {
  Json object = {{"edit", number}, {"edit_bytes", bytes}};
  object.update(ToJson(arguments, edit));
  if (arguments.is_json) return PrintJson(object);
  PrintLines(object);
  Print("\n");
}

Json ReportOf(const Arguments& arguments, const repair::ManifestReport& manifest) {
  Json report = BeginReport(manifest.file, "MANIFEST");
  report["format_version"] = manifest::kFormatVersion;
  report["edits"] = manifest.edits;
  SetFacts(arguments, &report, manifest.facts);
  if (manifest.version == nullptr) return report;
  const version::Version& version = *manifest.version;
  report["tables"] = version.file_count();
  report["table_bytes"] = version.bytes();
  report["entries"] = version.entries();
  report["tombstones"] = version.tombstones();
  report["range_tombstones"] = version.range_tombstones();
  report["blob_files"] = version.blob_files().size();
  report["blob_file_bytes"] = version.blob_file_bytes();
  report["garbage_bytes"] = version.garbage_bytes();
  report["runs"] = Lines(version.ToString());
  return report;
}

int Run(Arguments& arguments) {
  uint64_t number = 0;
  const auto manifest =
      repair::InspectManifest(Files(), arguments.path, [&](const format::VersionEdit& edit, uint64_t bytes) {
        if (arguments.is_scan && number < arguments.limit) PrintEdit(arguments, edit, number + 1, bytes);
        ++number;
        return Status();
      });
  if (!manifest) return Fail(manifest.error());
  return PrintReport(arguments, ReportOf(arguments, *manifest), manifest->file);
}

}  // namespace

void Add(Command& command) {
  const auto [verb, arguments] =
      AddVerb(command,
              {.usage = "manifest FILE [--check | --scan] [--json] [--hex]",
               .description = "Check a MANIFEST (MANIFEST-NNNNNN) and print the tree that it describes, or its edits",
               .footer = "If CURRENT is beside the file and names it, the command also checks that the file reaches "
                         "the point that CURRENT has.\n"
                         "Exit code 1 if the file is damaged. The database may be open.\n"
                         "Examples:\n"
                         "  mergedb manifest /srv/data/MANIFEST-000005\n"
                         "  mergedb manifest MANIFEST-000005 --scan --json",
               .takes = Takes::kFile},
              Run);
  AddFileOptions(verb, arguments, "Print the edits, oldest first");
}

}  // namespace mergedb::tool::manifest_verb
