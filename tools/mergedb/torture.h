// The verb torture: what a disk and its file system keep of what they acknowledged, when the power fails.
//
//   run      writes to DIR/mergedb-torture, a database and plain files, and prints a mark for each acknowledgment:
//            "synced 17 2034": the 17th synced write returned, 2,034 ms after the start. The marks go to another
//            machine, or to another disk.
//   verify   reads what the power failure left, and compares it with the marks.
//
// The plain files tell a disk that lies from a fault of mergedb: they use no code of mergedb.
// Test: tests/db/torture_test.py.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mergedb/db.h"
#include "mergedb/result.h"

namespace mergedb::tool::torture {

// What is acknowledged. The order is that of the report.
enum class Kind : uint8_t { kAppend, kOverwrite, kCreate, kReplace, kSynced, kFlushed, kUnsynced };
inline constexpr size_t kKinds = 7;
inline constexpr std::array<const char*, kKinds> kNames = {"append", "overwrite", "create",  "replace",
                                                           "synced", "flushed",   "unsynced"};

// The marks of a run. Acknowledgments of a kind have the numbers 1, 2, 3, ...
struct Marks {
  uint64_t id = 0;  // of the run
  struct Mark {
    uint64_t number = 0;
    uint64_t milliseconds = 0;  // since the start
  };
  std::array<std::vector<Mark>, kKinds> of;
  uint64_t last_milliseconds = 0;
  uint64_t Last(Kind kind) const {
    const auto& marks = of[static_cast<size_t>(kind)];
    return marks.empty() ? 0 : marks.back().number;
  }
};

// The first line of the marks.
std::string HeadOf(uint64_t id);
// A last line without a newline is left out: the run wrote it when the power failed. InvalidArgument, IOError.
Result<Marks> ReadMarks(const std::string& path);

// Files and directories of a run.
std::string HomeOf(const std::string& device);      // DIR/mergedb-torture
std::string DatabaseOf(const std::string& device);  // DIR/mergedb-torture/db
std::string PlainOf(const std::string& device);     // DIR/mergedb-torture/plain

// The bytes that belong to a number. Each run has its own.
std::string ContentOf(uint64_t id, std::string_view what, uint64_t number, size_t bytes);

// ---- the plain files (torture_files.cc)

inline constexpr size_t kRecordBytes = 64;         // of an append and of an overwrite
inline constexpr uint64_t kOverwrites = 64 << 10;  // records of the file that is overwritten, which has its size before

class PlainFiles {
 public:
  PlainFiles(std::string directory, uint64_t id) : directory_(std::move(directory)), id_(id) {}
  ~PlainFiles();
  PlainFiles(const PlainFiles&) = delete;
  PlainFiles& operator=(const PlainFiles&) = delete;
  Status Create();
  // Each returns when the system has acknowledged it: fdatasync, fsync of the file, fsync of the directory.
  Status Append(uint64_t number);
  Status Overwrite(uint64_t number);
  Status CreateFile(uint64_t number);
  Status Replace(uint64_t number);

 private:
  Status WriteNew(const std::string& name, const std::string& content) const;
  Status SyncDirectory() const;

  const std::string directory_;
  const uint64_t id_;
  int appended_ = -1, overwritten_ = -1;
};

// What one kind kept.
struct Kept {
  Kind kind = Kind::kAppend;
  uint64_t acknowledged = 0;
  uint64_t missing = 0;    // of these
  std::string first = {};  // what is wrong with the first one that is missing, or with one that is not whole
  bool is_kept() const { return first.empty(); }
};
std::vector<Kept> CheckPlainFiles(const std::string& directory, const Marks& marks);

// ---- the database (torture_load.cc, torture_check.cc)

struct Load {
  std::string device;
  uint64_t seconds = 0;  // 0: until the power fails, or Ctrl-C
};
// Writes and prints marks until the time has passed or `Stop` was called.
Status Run(const Load& load);

struct Report {
  std::vector<Kept> kept;             // in the order of Kind
  std::vector<std::string> problems;  // what else mergedb promises: damage, an open that fails
  bool is_kept() const;
};
Result<Report> Check(const std::string& device, const Marks& marks);

// The keys of a write.
inline constexpr size_t kKeysOfAWrite = 3;
std::string KeyOf(Kind kind, uint64_t number, size_t i);
Options DatabaseOptions();
inline constexpr uint64_t kSyncMilliseconds = 1000;  // of unsynced writes: a bound of the options

}  // namespace mergedb::tool::torture
