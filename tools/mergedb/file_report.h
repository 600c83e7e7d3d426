// What the verbs that read one file share: their options, and the output of their reports. A report is a JSON object;
// without --json it is printed as lines "name  value".
#pragma once

#include <string>
#include <string_view>

#include "command.h"
#include "mergedb/options.h"
#include "repair/one_file.h"

namespace mergedb::tool {

// The arguments of a verb that reads one file, and those of one that prints its entries.
struct FileArguments : Line, HexOption {
  bool is_check_only = false;
  bool is_json = false;
  bool is_scan = false;
  bool is_parts = false;  // --blocks, --frames: the parts of the file are listed
  uint64_t limit = UINT64_MAX;
};
struct ScanArguments : FileArguments, RangeOption {
  bool is_keys_only = false;
};

// --check, --json, --hex, --limit and --scan with this description.
void AddFileOptions(CLI::App* verb, FileArguments& arguments, const char* scan);
// The same, --from, --to and --keys-only.
void AddScanOptions(CLI::App* verb, ScanArguments& arguments, const char* scan);
// --blocks or --frames.
void AddParts(CLI::App* verb, FileArguments& arguments, const char* name, const char* description);

// Decides which entries a scan prints: those of the range, at most --limit.
class Selection {
 public:
  // Throws CLI::ValidationError as TakeRange.
  explicit Selection(const ScanArguments& arguments);
  bool Takes(std::string_view key);
  // The same for the keys of a range, whose end is exclusive.
  bool TakesRange(std::string_view begin, std::string_view end);

 private:
  const RangeOption range_;
  uint64_t left_;
};

FileSystem* Files();
// An object that begins with the name, the kind, the number and the size of the file.
nlohmann::ordered_json BeginReport(const repair::OneFile& file, const char* kind);
void SetKinds(nlohmann::ordered_json* report, const repair::KindCounts& kinds);
// Prints lines "name  value"; an array has a line for each item.
void PrintLines(const nlohmann::ordered_json& report);
// Prints the report, unless a scan was printed: then only damages, on stderr. With --check, only damages and notes.
// Returns the exit code.
int PrintReport(const FileArguments& arguments, nlohmann::ordered_json report, const repair::OneFile& file);
std::string CodecName(Compression codec);
// "apple#7,PUT", with the key as --hex asks.
std::string ShowVersion(const HexOption& arguments, std::string_view key, kv::Tag tag);

}  // namespace mergedb::tool
