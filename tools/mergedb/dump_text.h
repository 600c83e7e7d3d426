// FORMAT: the text that mdb_dump and db_dump write and mdb_load and db_load read. It has one section for each
// database:
//
//   VERSION=3
//   format=bytevalue            or format=print
//   database=NAME               for a named database
//   type=btree
//   mapsize=1073741824          only LMDB: Berkeley DB rejects the lines from here on, except db_pagesize
//   maxreaders=126
//   integerkey=1                or reversekey=1: the order of keys of a named database of LMDB
//   sections=4                  only mergedb, in the first section of several: a dump that is cut has fewer
//   keyspace=1                  only mergedb: the database has no name item (format/lmdb.h). mdb_load ignores the line
//   db_pagesize=4096
//   HEADER=END
//    6b6579                     a space, then a key in hex; its value follows in the same format
//    76616c7565
//   DATA=END
//
// With format=print, printable ASCII stands for itself, \\ for the backslash, and \hh for every other byte.
// LMDB before 0.9.25 does not escape the backslash, so a reader cannot tell it from an escape. Therefore
// bytevalue is the default. Plain text (mdb_load -T) has no header, and no space at the start of a line.
//
// Keys are those of the program: an integer of 4 or 8 bytes has the byte order of the machine, as in LMDB's dumps.
// Name items are not dumped: a section with a name and with LMDB's lines, but without keyspace=1, stands for one.
//
// What LMDB's text cannot say is in sections of VERSION=4, which mdb_load and db_load refuse before they load anything.
// If one section needs it, all have it:
//
//   database_hex=610a62         instead of database=NAME, for a name with a newline or a NUL
//   integerkey=1                with keys that are not all of 4 or all of 8 bytes
//
// Tests: tests/db/dump_test.cc, tests/db/dump_random_test.cc.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "line_reader.h"
#include "mergedb/result.h"

namespace mergedb::tool {

enum class DumpFlavour : uint8_t { kLmdb, kBerkeleyDb };

struct DumpHeader {
  bool is_print = false;
  std::string database = {};  // empty: the main database
  uint64_t map_bytes = 0;
  DumpFlavour flavour = DumpFlavour::kLmdb;  // of a section that is read: LMDB's if it has one of LMDB's lines
  unsigned lmdb_flags = 0;                   // of format/lmdb.h
  bool is_plain_keyspace = false;            // has a name, but no name item
  unsigned version = 3;
  uint64_t sections = 0;  // of the dump, in the first section of several; else 0
};

// True if a section of VERSION=3 can name the database.
bool IsPlainName(std::string_view name);

std::string PrintDumpHeader(const DumpHeader& header);
// Appends one line, with its newline, for a key or a value.
void AppendDumpLine(std::string* out, std::string_view bytes, bool is_print);
inline constexpr std::string_view kDumpEnd = "DATA=END\n";

// Reads sections, line by line. Error messages name the line.
class DumpReader {
 public:
  // `is_plain`: lines without a header (-T).
  DumpReader(LineReader& in, bool is_plain) : in_(in), is_plain_(is_plain) {}

  // False: no section is left. InvalidArgument: the text is not a dump, or the section needs features that
  // mergedb lacks (keys with several values, records without keys).
  Result<bool> NextSection(DumpHeader* header);
  // False: the section has ended.
  Result<bool> NextPair(std::string* key, std::string* value);

 private:
  Status ParseHeaderLine(const std::string& line, DumpHeader* header);
  Status Decode(std::string_view line, std::string* bytes) const;
  Result<bool> NextBytes(size_t bytes_max);

  LineReader& in_;
  const bool is_plain_;
  bool is_print_ = false;
  bool has_begun_ = false;
  std::string text_;  // of the last line
};

}  // namespace mergedb::tool
