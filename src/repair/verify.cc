// Verify: returns the result of the inspection. Also the text form of a Damage.
#include "base/bytes.h"
#include "db/recovery/import.h"
#include "db/recovery/recovery.h"
#include "db/state/options_check.h"
#include "mergedb/repair.h"
#include "repair/inspection.h"

namespace mergedb {
namespace {

std::string QuoteKey(const std::optional<std::string>& key, const char* open_end) {
  return key ? "\"" + base::Escape(*key) + "\"" : open_end;
}

}  // namespace

std::string ToText(const Damage& damage) {
  std::string text = damage.file + ": ";
  if (damage.offset != 0 || damage.bytes != 0) text += "offset " + std::to_string(damage.offset);
  if (damage.bytes != 0) text += ", " + std::to_string(damage.bytes) + " bytes";
  if (damage.offset != 0 || damage.bytes != 0) text += ": ";
  text += damage.what;
  if (!damage.loses_entries) return text + "; no entry is lost";
  if (!damage.smallest_key && !damage.largest_key) return text + "; entries of any key may be lost";
  return text + "; entries of keys from " + QuoteKey(damage.smallest_key, "the first") + " to " +
         QuoteKey(damage.largest_key, "the last") + " may be lost";
}

Result<VerifyReport> Verify(const Options& options, const std::string& path, const Progress& progress) {
  Options checked = options;
  RETURN_IF_ERROR(db::CheckOptions(&checked));
  RETURN_IF_ERROR(repair::CheckIsDatabase(checked.env.file_system, path));
  ASSIGN_OR_RETURN(const auto bound, db::BindDirectory(&checked, path));
  FileSystem* const files = checked.env.file_system;
  ASSIGN_OR_RETURN(const auto lock, repair::LockForRepair(files, path, false));
  // Tables with names of another database would look missing.
  ASSIGN_OR_RETURN(const db::Inventory inventory, db::TakeInventory(files, path));
  RETURN_IF_ERROR(db::AdoptFiles(files, path, inventory, nullptr, false).status());
  ASSIGN_OR_RETURN(
      auto inspection,
      repair::Inspect(
          {.file_system = files, .directory = path, .order = kv::Order(checked.comparator), .progress = progress}));
  return std::move(inspection.report);
}

}  // namespace mergedb
