// Inspects one MANIFEST: reads its VersionEdits and applies them as an open does.
#include <utility>

#include "base/bytes.h"
#include "env/file_reads.h"
#include "format/file_name.h"
#include "manifest/loader.h"
#include "repair/one_file.h"
#include "repair/one_file_parts.h"
#include "version/invariants.h"
#include "version/version_builder.h"

namespace mergedb::repair {
namespace {

template <typename T>
void TakeIfSet(const std::optional<T>& newer, std::optional<T>* fact) {
  if (newer) *fact = newer;
}

// Newer facts replace older ones; some facts end with the next edit (format/version_edit.h).
void TakeFacts(const format::VersionEdit& edit, format::VersionEdit* facts) {
  TakeIfSet(edit.database_id, &facts->database_id);
  TakeIfSet(edit.comparator, &facts->comparator);
  TakeIfSet(edit.next_file, &facts->next_file);
  TakeIfSet(edit.next_position, &facts->next_position);
  TakeIfSet(edit.last_sequence, &facts->last_sequence);
  TakeIfSet(edit.wal_start, &facts->wal_start);
  TakeIfSet(edit.wal_durable, &facts->wal_durable);
  TakeIfSet(edit.wal_segments, &facts->wal_segments);
  TakeIfSet(edit.key_marker, &facts->key_marker);
  TakeIfSet(edit.merge_operators, &facts->merge_operators);
  facts->clean_wal_end = edit.clean_wal_end;
  facts->staging_bytes = edit.staging_bytes;
  facts->flushed_sequence = edit.flushed_sequence;
}

class ManifestInspector {
 public:
  ManifestInspector(FileSystem* file_system, const std::string& path) : file_system_(file_system), path_(path) {}
  Result<ManifestReport> Run(const VisitEdit& visit);

 private:
  Status Take(std::string_view payload, const VisitEdit& visit);
  void ReportFlaws(const manifest::MirrorContents& contents);
  void CheckTree();
  // The point that CURRENT beside the file says the file has reached.
  std::optional<manifest::MirrorEnd> ReachedBy() const;

  FileSystem* const file_system_;
  const std::string& path_;
  const kv::Order order_{BytewiseComparator()};
  ManifestReport report_;
  Status failure_;    // of the visitor
  Status unapplied_;  // why the edits could not be applied
};

Result<ManifestReport> ManifestInspector::Run(const VisitEdit& visit) {
  ASSIGN_OR_RETURN(const auto file, OpenOneFile(file_system_, path_, OneFileKind::kManifest, &report_.file));
  report_.version = std::make_shared<const version::Version>();
  const auto reached = ReachedBy();
  const auto contents = manifest::ReadMirror(
      file_system_, path_, [&](std::string_view payload) { return Take(payload, visit); }, reached);
  if (!failure_.ok()) return failure_;
  if (!contents && !contents.error().IsCorruption()) return contents.error();
  if (!contents) {
    std::string what(contents.error().message());
    if (what.starts_with(path_ + ": ")) what.erase(0, path_.size() + 2);
    Report(&report_.file, 0, 0, what);
  } else {
    ReportFlaws(*contents);
  }
  CheckTree();
  return std::move(report_);
}

std::optional<manifest::MirrorEnd> ManifestInspector::ReachedBy() const {
  const auto current = manifest::ReadCurrent(file_system_, format::ParentOf(path_));
  const bool is_named =
      current && format::PrintFileName(format::FileKind::kManifest, current->manifest) == report_.file.name;
  return is_named ? current->reached : std::nullopt;
}

Status ManifestInspector::Take(std::string_view payload, const VisitEdit& visit) {
  ASSIGN_OR_RETURN(const format::VersionEdit edit, format::DecodeVersionEdit(payload));
  ++report_.edits;
  TakeFacts(edit, &report_.facts);
  const bool is_bytewise = !report_.facts.comparator || *report_.facts.comparator == order_.comparator()->Name();
  if (report_.version != nullptr && is_bytewise) {
    auto applied = version::ApplyEdit(order_, *report_.version, edit);
    unapplied_ = applied.status();
    report_.version = applied ? std::move(*applied) : nullptr;
    if (!unapplied_.ok())
      Report(&report_.file, 0, 0, "edit " + std::to_string(report_.edits) + ": " + std::string(unapplied_.message()));
  }
  if (!is_bytewise) report_.version = nullptr;
  if (visit) failure_ = visit(edit, payload.size());
  return failure_;
}

void ManifestInspector::ReportFlaws(const manifest::MirrorContents& contents) {
  report_.identity = contents.identity;
  for (const manifest::MirrorFlaw& flaw : contents.flaws)
    Report(&report_.file, flaw.offset, flaw.bytes, flaw.what).loses_entries = false;
  for (const manifest::MirrorFlaw& flaw : contents.tail) {
    if (report_.facts.clean_wal_end) {  // nothing is written after a clean close
      Report(&report_.file, flaw.offset, flaw.bytes, flaw.what);
    } else {
      report_.file.notes.push_back("offset " + std::to_string(flaw.offset) + ", " + std::to_string(flaw.bytes) +
                                   " bytes: an unfinished record, which the next open drops");
    }
  }
  const uint64_t low = kv::ToInt(contents.identity.number);  // the header stores the low 32 bits
  if (report_.file.number && static_cast<uint32_t>(kv::ToInt(*report_.file.number)) != static_cast<uint32_t>(low)) {
    TakeNumber(contents.identity.number, &report_.file);
  } else if (!report_.file.number) {
    report_.file.number = contents.identity.number;
  }
  if (report_.facts.database_id != contents.identity.database_id) {
    Report(&report_.file, 0, 0,
           "database id: expected " + std::to_string(contents.identity.database_id) + " as in the header, found " +
               std::to_string(report_.facts.database_id.value_or(0)));
  }
}

void ManifestInspector::CheckTree() {
  if (report_.version == nullptr) {
    if (report_.facts.comparator && *report_.facts.comparator != order_.comparator()->Name()) {
      report_.file.notes.push_back("the keys are in the order of the comparator \"" +
                                   base::Escape(*report_.facts.comparator) +
                                   "\", which only the program has: the tree is not checked");
    }
    return;
  }
  if (const Status status = version::CheckInvariants(order_, *report_.version); !status.ok())
    Report(&report_.file, 0, 0, "the tree: " + std::string(status.message()));
}

}  // namespace

Result<ManifestReport> InspectManifest(FileSystem* file_system, const std::string& path, const VisitEdit& visit) {
  return InspectTwice(
      file_system, path,
      [&](bool is_first, bool) { return ManifestInspector(file_system, path).Run(is_first ? visit : VisitEdit()); },
      [](const ManifestReport& again, ManifestReport* report) {
        return report->identity == again.identity && KeepCommonDamage(again.file, &report->file);
      });
}

}  // namespace mergedb::repair
