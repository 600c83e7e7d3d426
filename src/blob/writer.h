// Writes values, in the order of the calls, into a blob file (docs/formats/blob.md), in large aligned
// writes that bypass the page cache.
//
//     BlobIndex reference;
//     RETURN_IF_ERROR(writer->Add(key, value, &reference));      the table gets the reference
//     ASSIGN_OR_RETURN(auto file, writer->Finish());             before a VersionEdit names a table that has it
//
// If the writer is destroyed before Finish, the file is unusable; the owner of the file removes it. The
// writer syncs nothing: a commit syncs the files that it names (src/db/state/file_syncer.h).
// THREADS: one at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "env/file_sink.h"
#include "format/blob_file.h"
#include "format/compression.h"
#include "mergedb/env.h"
#include "mergedb/options.h"
#include "mergedb/result.h"

namespace mergedb::blob {

struct WriterOptions {
  Compression compression = Compression::kNone;
  bool is_direct = true;
  // The file is a recycled file: overwrite it, and cut off its excess bytes.
  bool is_reuse = false;
  env::WriteTimes* times = nullptr;  // as env::SinkFile has them
};

class Writer {
 public:
  // Creates `path`, or overwrites it (is_reuse). `unique_id` is random.
  static Result<std::unique_ptr<Writer>> Create(FileSystem* file_system, const std::string& path, kv::FileNumber number,
                                                uint64_t unique_id, const WriterOptions& options);

  // Writes a record; *reference is its place. After an error the file is unusable.
  Status Add(std::string_view key, std::string_view value, format::BlobIndex* reference);
  uint64_t record_bytes() const { return meta_.record_bytes; }
  // REQUIRES: at least one Add.
  Result<format::BlobFilePtr> Finish();

 private:
  Writer(env::SinkFile file, kv::FileNumber number, uint64_t unique_id, Compression compression);

  env::FileSink sink_;
  format::Compressor compressor_;
  format::BlobFileMeta meta_;
};

}  // namespace mergedb::blob
