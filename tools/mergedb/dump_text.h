// FORMAT: the text that mdb_dump and db_dump write and mdb_load and db_load read. Sections one after the other, one a database:
//
//   VERSION=3
//   format=bytevalue            or format=print
//   database=NAME               a named one
//   type=btree
//   mapsize=1073741824          LMDB's alone: Berkeley DB refuses to read this line and the next
//   maxreaders=126
//   db_pagesize=4096
//   HEADER=END
//    6b6579                     a space, then a key in hex; after it its value in the same way
//    76616c7565
//   DATA=END
//
// format=print: printable ASCII as it is, \\ for the backslash, \hh for every other byte. LMDB before 0.9.25 writes the backslash as
// it is, which nobody can tell from an escape: bytevalue is the default.
// Plain text (mdb_load -T) has no header, and no space before a line. Tested by tests/db/dump_test.cc.
#pragma once

#include <cstdint>
#include <cstdio>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>

#include "mergedb/result.h"

namespace mergedb::tool {

enum class DumpFlavour : uint8_t { kLmdb, kBerkeleyDb };

struct DumpHeader {
  bool is_print = false;
  std::string database = {};  // empty: the main one
  uint64_t map_bytes = 0;
  DumpFlavour flavour = DumpFlavour::kLmdb;
};

std::string PrintDumpHeader(const DumpHeader& header);
// One line with its newline: of a key or of a value.
void AppendDumpLine(std::string* out, std::string_view bytes, bool is_print);
inline constexpr std::string_view kDumpEnd = "DATA=END\n";

// Reads sections off a stream, line by line. Messages name the line.
class DumpReader {
 public:
  // `is_plain`: lines without header (-T). `first_line`: read already.
  DumpReader(std::istream& in, bool is_plain, std::optional<std::string> first_line = std::nullopt)
      : in_(in), is_plain_(is_plain), next_(std::move(first_line)) {}

  // False: no section is left. InvalidArgument: something that a map of keys to values cannot take in (duplicates, records
  // without keys), or no dump.
  Result<bool> NextSection(DumpHeader* header);
  // False: the section is over.
  Result<bool> NextPair(std::string* key, std::string* value);
  uint64_t line() const { return line_; }

 private:
  bool GetLine(std::string* line);
  Status ParseHeaderLine(const std::string& line, DumpHeader* header);
  Status Decode(std::string_view line, std::string* bytes) const;
  Status Fail(std::string_view what) const;

  std::istream& in_;
  const bool is_plain_;
  std::optional<std::string> next_;
  bool is_print_ = false;
  bool has_begun_ = false;
  uint64_t line_ = 0;
};

}  // namespace mergedb::tool
