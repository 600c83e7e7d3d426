#include "leveldb/format/name.h"

#include <charconv>

#include "format/file_name.h"

namespace mergedb::leveldb_format {
namespace {

constexpr std::string_view kManifestPrefix = "MANIFEST-";

struct Suffix {
  NameKind kind;
  std::string_view text;
};
constexpr Suffix kSuffixes[] = {{NameKind::kLog, ".log"},
                                {NameKind::kTable, ".ldb"},
                                {NameKind::kOldTable, ".sst"},
                                {NameKind::kTemporary, ".dbtmp"}};

std::optional<kv::FileNumber> ParseNumber(std::string_view digits) {
  uint64_t number = 0;
  const char* const limit = digits.data() + digits.size();
  const auto [end, error] = std::from_chars(digits.data(), limit, number);
  if (error != std::errc() || end != limit) return std::nullopt;
  return kv::FileNumber{number};
}

}  // namespace

std::string PrintName(NameKind kind, kv::FileNumber number) {
  switch (kind) {
    case NameKind::kCurrent: return "CURRENT";
    case NameKind::kLock: return "LOCK";
    case NameKind::kTextLog: return "LOG";
    case NameKind::kManifest: return std::string(kManifestPrefix) + format::PrintFileNumber(number);
    default: break;
  }
  for (const Suffix& suffix : kSuffixes) {
    if (suffix.kind == kind) return format::PrintFileNumber(number).append(suffix.text);
  }
  return "";
}

std::optional<Name> ParseName(std::string_view name) {
  if (name == "CURRENT") return Name{.kind = NameKind::kCurrent};
  if (name == "LOCK") return Name{.kind = NameKind::kLock};
  if (name == "LOG" || name == "LOG.old") return Name{.kind = NameKind::kTextLog};
  const auto numbered = [](NameKind kind, std::string_view digits) -> std::optional<Name> {
    const auto number = ParseNumber(digits);
    return number ? std::optional(Name{.kind = kind, .number = *number}) : std::nullopt;
  };
  if (name.starts_with(kManifestPrefix)) return numbered(NameKind::kManifest, name.substr(kManifestPrefix.size()));
  for (const Suffix& suffix : kSuffixes) {
    if (name.ends_with(suffix.text)) return numbered(suffix.kind, name.substr(0, name.size() - suffix.text.size()));
  }
  return std::nullopt;
}

std::optional<kv::FileNumber> DecodeCurrent(std::string_view bytes) {
  if (!bytes.ends_with('\n')) return std::nullopt;
  const auto name = ParseName(bytes.substr(0, bytes.size() - 1));
  return name && name->kind == NameKind::kManifest ? std::optional(name->number) : std::nullopt;
}

std::string EncodeCurrent(kv::FileNumber manifest) { return PrintName(NameKind::kManifest, manifest) + "\n"; }

}  // namespace mergedb::leveldb_format
