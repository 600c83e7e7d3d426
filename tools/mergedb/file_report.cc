#include "file_report.h"

#include <cstdio>

#include "damage_report.h"
#include "format/file_name.h"
#include "text.h"

namespace mergedb::tool {

namespace {

std::string Title(std::string name) {
  for (char& c : name) c = c == '_' ? ' ' : c;
  return name;
}

std::string Inline(const nlohmann::ordered_json& value) {
  if (value.is_string()) return ToText(value.get_ref<const std::string&>());
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_number_float()) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f", value.get<double>());
    return text;
  }
  if (!value.is_structured()) return value.dump();
  std::string text;
  for (const auto& [name, item] : value.items())
    text += (text.empty() ? "" : ", ") + (value.is_object() ? Title(name) + " " : "") + Inline(item);
  return text;
}

std::string NextStep(const std::string& path) {
  const std::string directory = format::ParentOf(path);
  if (Files()->SizeOf(format::FilePath(directory, format::FileKind::kCurrent)))
    return "next: `mergedb verify " + ToText(directory) +
           "` says what this means for the database, and `mergedb repair " + ToText(directory) +
           " --dry-run` what a repair would keep";
  return "next: get this file again from where it was copied; if it is damaged there, `mergedb verify DIR` checks the "
         "database";
}

void PrintDamages(const std::string& path, const repair::OneFile& file, FILE* out) {
  for (const Damage& damage : file.damages) std::fprintf(out, "damage: %s\n", ToLine(mergedb::ToText(damage)).c_str());
  for (const std::string& note : file.notes) std::fprintf(out, "note: %s\n", ToLine(note).c_str());
  if (!file.damages.empty()) std::fprintf(out, "%s\n", NextStep(path).c_str());
}

}  // namespace

void AddFileOptions(CLI::App* verb, FileArguments& arguments, const char* scan) {
  CLI::Option* const check =
      verb->add_flag("--check", arguments.is_check_only, "Print only whether the file is intact, and all damage");
  verb->add_flag("--json", arguments.is_json, "Print JSON; with --scan one line for each entry");
  verb->add_flag("--hex", arguments.is_hex, "Keys and values are in hex, on the command line and in the output");
  verb->add_flag("--scan", arguments.is_scan, scan)->excludes(check);
  verb->add_option("--limit", arguments.limit, "Print at most this many; the whole file is checked in any case")
      ->check(IntegerFrom(0))
      ->needs("--scan");
}

void AddScanOptions(CLI::App* verb, ScanArguments& arguments, const char* scan) {
  AddFileOptions(verb, arguments, scan);
  AddRange(verb, arguments);
  verb->add_flag("--keys-only", arguments.is_keys_only, "Print no values");
  for (const char* option : {"--from", "--to", "--keys-only"}) verb->get_option(option)->needs("--scan");
}

void AddParts(CLI::App* verb, FileArguments& arguments, const char* name, const char* description) {
  verb->add_flag(name, arguments.is_parts, description)->excludes("--check");
}

Selection::Selection(const ScanArguments& arguments)
    : range_(TakeRange(arguments, arguments)), left_(arguments.limit) {}

bool Selection::Takes(std::string_view key) {
  if (left_ == 0 || (range_.from && key < *range_.from) || (range_.to && key >= *range_.to)) return false;
  --left_;
  return true;
}

bool Selection::TakesRange(std::string_view begin, std::string_view end) {
  if (left_ == 0 || (range_.from && end <= *range_.from) || (range_.to && begin >= *range_.to)) return false;
  --left_;
  return true;
}

FileSystem* Files() {
  static const Env env = DefaultEnv();
  return env.file_system;
}

nlohmann::ordered_json BeginReport(const repair::OneFile& file, const char* kind) {
  nlohmann::ordered_json report = {{"file", file.name}, {"kind", kind}};
  if (file.number) report["number"] = kv::ToInt(*file.number);
  report["bytes"] = file.bytes;
  return report;
}

void SetKinds(nlohmann::ordered_json* report, const repair::KindCounts& kinds) {
  nlohmann::ordered_json counts = nlohmann::ordered_json::object();
  for (size_t kind = 0; kind < kinds.size(); ++kind) {
    if (kinds[kind] != 0) counts[std::string(kv::KindName(static_cast<kv::Kind>(kind)))] = kinds[kind];
  }
  (*report)["kinds"] = std::move(counts);
}

void PrintLines(const nlohmann::ordered_json& report) {
  size_t width = 0;
  for (const auto& [name, value] : report.items()) width = std::max(width, name.size());
  for (const auto& [name, value] : report.items()) {
    std::string title = Title(name);
    title.resize(width + 2, ' ');
    if (!value.is_array()) {
      Print(title + Inline(value) + "\n");
      continue;
    }
    for (const auto& item : value) {
      Print(title + Inline(item) + "\n");
      title.assign(width + 2, ' ');
    }
  }
}

int PrintReport(const FileArguments& arguments, nlohmann::ordered_json report, const repair::OneFile& file) {
  const bool is_ok = file.damages.empty();
  const bool has_output = arguments.is_scan || arguments.is_parts;
  if (arguments.is_json && !has_output) {
    if (arguments.is_check_only) report = {{"file", file.name}};
    report["ok"] = is_ok;
    report["damages"] = nlohmann::ordered_json::array();
    for (const Damage& damage : file.damages) report["damages"].push_back(DamageJson(damage));
    report["notes"] = file.notes;
    PrintJson(report, 2);
  } else if (has_output) {
    FlushPrinted();
    PrintDamages(arguments.path, file, stderr);
  } else {
    if (!arguments.is_check_only) PrintLines(report);
    if (is_ok) Print("ok: all checksums match\n");
    PrintDamages(arguments.path, file, stdout);
  }
  return is_ok ? kOk : kNo;
}

std::string CodecName(Compression codec) {
  switch (codec) {
    case Compression::kNone: return "none";
    case Compression::kSnappy: return "snappy";
    case Compression::kZstd: return "zstd";
    case Compression::kLz4: return "lz4";
  }
  return std::to_string(static_cast<int>(codec));
}

std::string ShowVersion(const HexOption& arguments, std::string_view key, kv::Tag tag) {
  return ShowBytes(arguments, key) + "#" + std::to_string(kv::SequenceOf(tag)) + "," +
         std::string(kv::KindName(kv::KindOf(tag)));
}

}  // namespace mergedb::tool
