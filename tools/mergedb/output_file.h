// A file that a verb writes: dump -f, inspect --html, trace scrub.
//
//   a regular file, or none         the bytes go to a new file beside it, which replaces it once they are complete and
//                                   durable: until then, and after a failure, the old file stays as it is
//   a device, a pipe, /dev/fd/3     the bytes go there at once
//   "-"                             the bytes go to stdout
//
// A new file has mode 0600, since it holds data of a database; a replaced one keeps its owner and its mode. A symbolic
// link stays, and its target is replaced. A kill leaves the file mergedb-output-XXXXXX.
//
//     ASSIGN_OR_RETURN(const auto file, OutputFile::Open(path, directory));
//     file->Write("text");
//     return file->Commit();
//
// Test: tests/db/output_file_test.cc.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "mergedb/result.h"

namespace mergedb::tool {

class OutputFile {
 public:
  // InvalidArgument if the file lies within `database`, a directory, or "" if there is none, or has the name of a file
  // of another database in its directory. IOError.
  static Result<std::unique_ptr<OutputFile>> Open(const std::string& path, const std::string& database);
  ~OutputFile();  // without Commit, removes what was written beside the old file
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void Write(std::string_view text);
  bool has_failed() const { return error_ != 0; }
  // Returns the first error of all writes. Of stdout, main reports the errors.
  Status Commit();

 private:
  explicit OutputFile(std::string path) : path_(std::move(path)) {}
  Status OpenStream();
  void NoteError();
  void KeepOwnerAndMode() const;
  Status Replace();
  Status Failure() const;

  const std::string path_;
  std::string target_;           // the file that is replaced; empty: the stream writes into it
  std::string beside_;           // the file of the stream until it replaces the target
  std::FILE* stream_ = nullptr;  // null: stdout
  int error_ = 0;                // errno of the first call that failed
};

}  // namespace mergedb::tool
