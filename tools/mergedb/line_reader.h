// Reads lines of a file or of stdin. A failed read, a directory, a line that is too long and a last line without a
// newline are errors: the end of the input is a newline and then nothing, so that input which another program cut is
// not taken for a whole one. Messages name the file and the line. Test: tests/db/load_input_test.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "mergedb/result.h"

namespace mergedb::tool {

// The bound of a line. WHY `mark`: without it, input that has no lines fills the memory up to the size of the largest
// value before it is refused.
struct LineBound {
  size_t bytes_max = SIZE_MAX;
  char mark = '\0';  // not '\0': this character stands within the first `mark_within` bytes
  size_t mark_within = SIZE_MAX;
};

class LineReader {
 public:
  // Opens the file, or stdin if the path is not given or "-", and reads its first bytes.
  static Result<std::unique_ptr<LineReader>> Open(const std::optional<std::string>& path);
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  // Reads the next line, without its newline. False: the input has ended.
  Result<bool> Next(std::string* line, const LineBound& bound);
  // Makes `line`, which was read last, the next one again.
  void PutBack(std::string line);

  // True: nothing was read yet, and there is nothing to read.
  bool is_empty() const { return line_ == 0 && begin_ == end_; }
  const std::string& name() const { return name_; }
  uint64_t line() const { return line_; }  // the number of the last line, from 1 on
  // InvalidArgument about the last line: "FILE: line 3: what".
  Status Fail(std::string_view what) const;

 private:
  LineReader(int descriptor, std::string name);
  // Reads into the buffer, which is empty. It stays empty at the end of the input.
  Status Fill();
  // "FILE: line 3, offset 120".
  std::string Where() const;

  const int descriptor_;
  const std::string name_;
  const std::unique_ptr<char[]> buffer_;
  size_t begin_ = 0, end_ = 0;  // of the unread bytes in buffer_
  uint64_t line_ = 0;
  uint64_t offset_ = 0;  // of the unread bytes in the input
  std::optional<std::string> put_back_;
};

// All bytes of stdin; at most `bytes_max`, else InvalidArgument.
Result<std::string> ReadStdin(size_t bytes_max);

}  // namespace mergedb::tool
