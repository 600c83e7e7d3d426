#include "dump_text.h"

#include <istream>
#include <utility>

#include "text.h"

namespace mergedb::tool {

namespace {

bool IsPrintable(char c) { return c >= 0x20 && c < 0x7f; }

// Header lines for features that mergedb does not support, unless their value is 0.
constexpr std::string_view kRefused[] = {"duplicates", "dupsort", "dupfixed", "integerdup", "reversedup", "recnum"};
// Header lines that choose a key order. mergedb sorts keys by their bytes instead, and prints a message.
constexpr std::string_view kOrders[] = {"reversekey", "integerkey"};

bool IsOneOf(std::string_view name, const auto& names) {
  for (const std::string_view each : names) {
    if (each == name) return true;
  }
  return false;
}

}  // namespace

std::string PrintDumpHeader(const DumpHeader& header) {
  std::string text = "VERSION=3\n";
  text += header.is_print ? "format=print\n" : "format=bytevalue\n";
  if (!header.database.empty()) text += "database=" + header.database + "\n";
  text += "type=btree\n";
  if (header.flavour == DumpFlavour::kLmdb)
    text += "mapsize=" + std::to_string(header.map_bytes) + "\nmaxreaders=126\n";
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

Status DumpReader::Fail(std::string_view what) const {
  return Status::InvalidArgument("line " + std::to_string(line_) + ": " + std::string(what));
}

bool DumpReader::GetLine(std::string* line) {
  ++line_;
  if (next_) {
    *line = *std::exchange(next_, std::nullopt);
    return true;
  }
  return static_cast<bool>(std::getline(in_, *line));
}

Status DumpReader::ParseHeaderLine(const std::string& line, DumpHeader* header) {
  const size_t equals = line.find('=');
  if (equals == std::string::npos) return Fail("expected name=value in the header, found \"" + ToText(line) + "\"");
  const std::string_view name = std::string_view(line).substr(0, equals);
  const std::string value = line.substr(equals + 1);
  if (name == "VERSION") {
    if (value != "3" && value != "2") return Fail("expected VERSION=3, found " + ToText(value));
  } else if (name == "format") {
    if (value != "print" && value != "bytevalue")
      return Fail("expected format=print or bytevalue, found " + ToText(value));
    header->is_print = value == "print";
  } else if (name == "database") {
    header->database = value;
  } else if (name == "type") {
    if (value != "btree" && value != "hash") return Fail("expected type=btree or hash, found " + ToText(value));
  } else if (name == "keys") {
    if (value == "0") return Fail("keys=0: records without keys are not supported");
  } else if (IsOneOf(name, kRefused) && value != "0") {
    return Fail(std::string(name) + ": keys with several values are not supported");
  } else if (IsOneOf(name, kOrders) && value != "0") {
    std::fprintf(stderr, "mergedb: line %llu: %s is not supported: keys are sorted by their bytes\n",
                 static_cast<unsigned long long>(line_), std::string(name).c_str());
  }
  return {};  // lines about the file format of LMDB or Berkeley DB are ignored
}

Result<bool> DumpReader::NextSection(DumpHeader* header) {
  *header = DumpHeader();
  if (is_plain_) {
    header->is_print = is_print_ = true;
    return !std::exchange(has_begun_, true);
  }
  std::string line;
  while (GetLine(&line)) {
    if (line.empty()) continue;
    if (line == "HEADER=END") {
      is_print_ = header->is_print;
      return true;
    }
    RETURN_IF_ERROR(ParseHeaderLine(line, header));
    has_begun_ = true;
  }
  if (!std::exchange(has_begun_, false)) return false;
  return Fail("expected HEADER=END, found the end of the input");
}

Status DumpReader::Decode(std::string_view line, std::string* bytes) const {
  if (!is_print_) {
    auto decoded = FromHex(line);
    if (!decoded) return Fail("expected an even number of hex digits");
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
      return Fail(
          "expected \\\\ or two hex digits after a backslash (LMDB before 0.9.25 does not escape backslashes: make the "
          "dump without -p)");
    }
  }
  return {};
}

Result<bool> DumpReader::NextPair(std::string* key, std::string* value) {
  std::string line;
  if (!GetLine(&line)) {
    if (is_plain_) return false;
    return Fail("expected DATA=END, found the end of the input");
  }
  if (!is_plain_) {
    has_begun_ = false;
    if (line == "DATA=END") return false;
    if (line.empty() || line[0] != ' ') return Fail("expected a space and a key, or DATA=END");
  }
  RETURN_IF_ERROR(Decode(std::string_view(line).substr(is_plain_ ? 0 : 1), key));
  if (!GetLine(&line)) return Fail("expected the value of the last key, found the end of the input");
  if (!is_plain_ && (line.empty() || line[0] != ' ')) return Fail("expected a space and a value");
  RETURN_IF_ERROR(Decode(std::string_view(line).substr(is_plain_ ? 0 : 1), value));
  return true;
}

}  // namespace mergedb::tool
