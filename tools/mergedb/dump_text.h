// FORMAT: the text that mdb_dump and db_dump write and mdb_load and db_load read. It has one section for each
// database:
//
//   VERSION=3
//   format=bytevalue            or format=print
//   database=NAME               for a named database
//   type=btree
//   mapsize=1073741824          only LMDB: Berkeley DB rejects this line and the next
//   maxreaders=126
//   db_pagesize=4096
//   HEADER=END
//    6b6579                     a space, then a key in hex; its value follows in the same format
//    76616c7565
//   DATA=END
//
// With format=print, printable ASCII stands for itself, \\ for the backslash, and \hh for every other byte.
// LMDB before 0.9.25 does not escape the backslash, so a reader cannot tell it from an escape. Therefore
// bytevalue is the default. Plain text (mdb_load -T) has no header, and no space at the start of a line. Test:
// tests/db/dump_test.cc.
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
  std::string database = {};  // empty: the main database
  uint64_t map_bytes = 0;
  DumpFlavour flavour = DumpFlavour::kLmdb;
};

std::string PrintDumpHeader(const DumpHeader& header);
// Appends one line, with its newline, for a key or a value.
void AppendDumpLine(std::string* out, std::string_view bytes, bool is_print);
inline constexpr std::string_view kDumpEnd = "DATA=END\n";

// Reads sections from a stream, line by line. Error messages name the line.
class DumpReader {
 public:
  // `is_plain`: lines without a header (-T). `first_line`: a line that the caller has already read.
  DumpReader(std::istream& in, bool is_plain, std::optional<std::string> first_line = std::nullopt)
      : in_(in), is_plain_(is_plain), next_(std::move(first_line)) {}

  // False: no section is left. InvalidArgument: the text is not a dump, or the section needs features that
  // mergedb lacks (keys with several values, records without keys).
  Result<bool> NextSection(DumpHeader* header);
  // False: the section has ended.
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
