#include "dump_text.h"

#include <charconv>
#include <utility>

#include "format/lmdb.h"
#include "mergedb/db.h"
#include "text.h"

namespace mergedb::tool {

namespace {

bool IsPrintable(char c) { return c >= 0x20 && c < 0x7f; }

// Header lines for features that mergedb does not support, unless their value is 0.
constexpr std::string_view kRefused[] = {"duplicates", "dupsort", "dupfixed", "integerdup", "reversedup", "recnum"};
// Header lines that only LMDB writes.
constexpr std::string_view kOfLmdb[] = {"mapsize", "mapaddr", "maxreaders", "reversekey", "integerkey"};

bool IsOneOf(std::string_view name, const auto& names) {
  for (const std::string_view each : names) {
    if (each == name) return true;
  }
  return false;
}

constexpr size_t kHeaderLineBytesMax = size_t{16} << 10;
// A byte of a key or value has at most 3 characters: \hh.
constexpr size_t kCharactersOfByte = 3;

}  // namespace

bool IsPlainName(std::string_view name) {
  return name.find('\n') == std::string_view::npos && name.find('\0') == std::string_view::npos;
}

std::string PrintDumpHeader(const DumpHeader& header) {
  std::string text = "VERSION=" + std::to_string(header.version) + "\n";
  text += header.is_print ? "format=print\n" : "format=bytevalue\n";
  if (!header.database.empty()) {
    text += IsPlainName(header.database) ? "database=" + header.database : "database_hex=" + ToHex(header.database);
    text += "\n";
  }
  text += "type=btree\n";
  if (header.flavour == DumpFlavour::kLmdb) {
    text += "mapsize=" + std::to_string(header.map_bytes) + "\nmaxreaders=126\n";
    if (header.lmdb_flags & format::kLmdbReverseKey) text += "reversekey=1\n";
    if (header.lmdb_flags & format::kLmdbIntegerKey) text += "integerkey=1\n";
    if (header.sections > 1) text += "sections=" + std::to_string(header.sections) + "\n";
    if (header.is_plain_keyspace) text += "keyspace=1\n";
  }
  return text + "db_pagesize=4096\nHEADER=END\n";
}

void AppendDumpLine(std::string* out, std::string_view bytes, bool is_print) {
  *out += ' ';
  for (const char c : bytes) {
    if (!is_print) {
      AppendHex(out, c);
    } else if (c == '\\') {
      *out += "\\\\";
    } else if (IsPrintable(c)) {
      *out += c;
    } else {
      *out += '\\';
      AppendHex(out, c);
    }
  }
  *out += '\n';
}

Status DumpReader::ParseHeaderLine(const std::string& line, DumpHeader* header) {
  const size_t equals = line.find('=');
  if (equals == std::string::npos) return in_.Fail("expected name=value in the header, found \"" + ToText(line) + "\"");
  const std::string_view name = std::string_view(line).substr(0, equals);
  const std::string value = line.substr(equals + 1);
  if (name == "VERSION") {
    if (value != "2" && value != "3" && value != "4")
      return in_.Fail("expected VERSION=2, 3 or 4, found " + ToText(value));
    header->version = static_cast<unsigned>(value[0] - '0');
  } else if (name == "format") {
    if (value != "print" && value != "bytevalue")
      return in_.Fail("expected format=print or bytevalue, found " + ToText(value));
    header->is_print = value == "print";
  } else if (name == "database") {
    header->database = value;
  } else if (name == "database_hex" && header->version == 4) {
    auto database = FromHex(value);
    if (!database || database->empty()) return in_.Fail("expected the hex digits of a name, found " + ToText(value));
    header->database = *std::move(database);
  } else if (name == "type") {
    if (value != "btree" && value != "hash") return in_.Fail("expected type=btree or hash, found " + ToText(value));
  } else if (name == "keys") {
    if (value == "0") return in_.Fail("keys=0: records without keys are not supported");
  } else if (IsOneOf(name, kRefused) && value != "0") {
    return in_.Fail(std::string(name) + ": keys with several values are not supported");
  } else if (name == "reversekey" && value != "0") {
    header->lmdb_flags |= format::kLmdbReverseKey;
  } else if (name == "integerkey" && value != "0") {
    header->lmdb_flags |= format::kLmdbIntegerKey;
  } else if (name == "keyspace" && value != "0") {
    header->is_plain_keyspace = true;
  } else if (name == "sections") {
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), header->sections);
    if (error != std::errc() || end != value.data() + value.size())
      return in_.Fail("expected a number of sections, found " + ToText(value));
  }
  if (IsOneOf(name, kOfLmdb)) header->flavour = DumpFlavour::kLmdb;
  return {};  // lines about the file format of LMDB or Berkeley DB are ignored
}

Result<bool> DumpReader::NextSection(DumpHeader* header) {
  *header = {.flavour = DumpFlavour::kBerkeleyDb};
  if (is_plain_) {
    header->is_print = is_print_ = true;
    return !std::exchange(has_begun_, true);
  }
  std::string line;
  for (;;) {
    ASSIGN_OR_RETURN(const bool has_line, in_.Next(&line, {.bytes_max = kHeaderLineBytesMax}));
    if (!has_line) break;
    if (line.empty()) continue;
    if (line == "HEADER=END") {
      is_print_ = header->is_print;
      return true;
    }
    RETURN_IF_ERROR(ParseHeaderLine(line, header));
    has_begun_ = true;
  }
  if (!std::exchange(has_begun_, false)) return false;
  return in_.Fail("expected HEADER=END, found the end of the input");
}

Status DumpReader::Decode(std::string_view line, std::string* bytes) const {
  if (!is_print_) {
    auto decoded = FromHex(line);
    if (!decoded) return in_.Fail("expected an even number of hex digits");
    *bytes = *std::move(decoded);
    return {};
  }
  bytes->clear();
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\\') {
      *bytes += line[i];
    } else if (i + 1 < line.size() && line[i + 1] == '\\') {
      *bytes += '\\';
      ++i;
    } else if (const auto byte = FromHex(line.substr(i + 1, 2)); byte && byte->size() == 1) {
      *bytes += *byte;
      i += 2;
    } else {
      return in_.Fail(
          "expected \\\\ or two hex digits after a backslash (LMDB before 0.9.25 does not escape backslashes: make the "
          "dump without -p)");
    }
  }
  return {};
}

// Reads a line of a key or value of at most `bytes_max` bytes. False: the end of the input.
Result<bool> DumpReader::NextBytes(size_t bytes_max) {
  return in_.Next(&text_, {.bytes_max = kCharactersOfByte * bytes_max + 1});
}

Result<bool> DumpReader::NextPair(std::string* key, std::string* value) {
  ASSIGN_OR_RETURN(const bool has_key, NextBytes(kKeyBytesMax));
  if (!has_key) {
    if (is_plain_) return false;
    return in_.Fail("expected DATA=END, found the end of the input");
  }
  if (!is_plain_) {
    has_begun_ = false;
    if (text_ == "DATA=END") return false;
    if (text_.empty() || text_[0] != ' ') return in_.Fail("expected a space and a key, or DATA=END");
  }
  RETURN_IF_ERROR(Decode(std::string_view(text_).substr(is_plain_ ? 0 : 1), key));
  ASSIGN_OR_RETURN(const bool has_value, NextBytes(kValueBytesMax));
  if (!has_value) return in_.Fail("expected the value of the last key, found the end of the input");
  if (!is_plain_ && (text_.empty() || text_[0] != ' ')) return in_.Fail("expected a space and a value");
  RETURN_IF_ERROR(Decode(std::string_view(text_).substr(is_plain_ ? 0 : 1), value));
  return true;
}

}  // namespace mergedb::tool
