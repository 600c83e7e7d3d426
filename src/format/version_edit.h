// FORMAT: what the MANIFEST says (docs/formats/manifest.md): FileMeta describes a table, BlobFileMeta a value file; an VersionEdit is
// the difference between two Versions.
//
//   edit := (tag varint32, payload length varint32, payload)*      an unknown tag below 64 is NotSupported ("newer
//                                                                  version"), an unknown tag from 64 up is skipped
//
// WHY an VersionEdit speaks of cuts and not of removed files: a job moves a key range out of several runs into one of them.
// "Cut [lower, upper) from the run at position 9" says so without naming files; a file goes when no slice shows it, a value
// file when no table that is left refers to it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kv/key.h"
#include "mergedb/result.h"

namespace mergedb::format {

// THREADS: immutable once made; shared by pointer.
struct BlobFileMeta {
  kv::FileNumber number{};
  uint64_t bytes = 0;      // of the file
  uint64_t unique_id = 0;  // also in the file; salts its checksums
  uint64_t records = 0;
  uint64_t record_bytes = 0;  // of all records together

  friend bool operator==(const BlobFileMeta&, const BlobFileMeta&) = default;
};
using BlobFilePtr = std::shared_ptr<const BlobFileMeta>;

// What a table refers to in one value file.
struct ValueShare {
  kv::FileNumber file{};
  uint64_t bytes = 0;  // of the records referred to

  friend bool operator==(const ValueShare&, const ValueShare&) = default;
};

// THREADS: immutable once made; shared by pointer.
struct FileMeta {
  kv::FileNumber number{};
  uint64_t bytes = 0;      // of the file
  uint64_t unique_id = 0;  // also in the file; salts its checksums (rule W9: a swapped file is noticed)
  uint64_t entries = 0;
  // Entries that a full compaction drops: deletes, and versions kept for a snapshot beside a newer one of their key.
  uint64_t tombstones = 0;
  uint64_t raw_bytes = 0;  // of keys and values before compression
  kv::Sequence smallest_sequence = 0;
  kv::Sequence largest_sequence = 0;
  // User keys: every version and every range tombstone of the table lies between them. The largest is included, unless
  // `largest_is_open`: then it is the end of a range tombstone, which its range does not include.
  std::string smallest;
  std::string largest;
  bool largest_is_open = false;
  uint64_t range_tombstones = 0;  // not counted in `entries` nor in `tombstones`
  // Bytes of older tables, and of values that they refer to, that the range tombstones hide: an estimate, made when the
  // table was written. Not in the file.
  uint64_t masked_bytes = 0;
  std::vector<ValueShare> values = {};  // by number, each file once

  uint64_t value_bytes() const {  // of all records that it refers to
    uint64_t sum = 0;
    for (const ValueShare& share : values) sum += share.bytes;
    return sum;
  }

  friend bool operator==(const FileMeta&, const FileMeta&) = default;
};
using FileMetaPtr = std::shared_ptr<const FileMeta>;

// Half open; nullopt is open. {} is everything.
struct Bounds {
  std::optional<std::string> lower = {};  // included
  std::optional<std::string> upper = {};  // not included
  friend bool operator==(const Bounds&, const Bounds&) = default;
};

// A run's level: `cascade` uses it as the level number, `lazy` as the tier.
using Level = uint32_t;
inline constexpr Level kBottomLevel = 1000;  // lazy's partitioned bottom run

struct VersionEdit {
  struct Cut {  // remove these keys from the view of the run at `position`
    kv::Position position{};
    Bounds bounds;
    friend bool operator==(const Cut&, const Cut&) = default;
  };
  struct Add {  // show these keys of `file` in the run at `position` (made at `level` if it is not there)
    kv::Position position{};
    Level level = 0;
    FileMetaPtr file;
    Bounds bounds;
    friend bool operator==(const Add& a, const Add& b) {
      return a.position == b.position && a.level == b.level && a.bounds == b.bounds &&
             (a.file == b.file || (a.file && b.file && *a.file == *b.file));
    }
  };
  struct SetLevel {
    kv::Position position{};
    Level level = 0;
    friend bool operator==(const SetLevel&, const SetLevel&) = default;
  };
  // A value file that tables of this edit refer to and that the Version before did not have.
  struct AddBlobFile {
    BlobFilePtr file;
    friend bool operator==(const AddBlobFile& a, const AddBlobFile& b) {
      return a.file == b.file || (a.file && b.file && *a.file == *b.file);
    }
  };
  // Applied in this order: cuts, adds, levels. Runs that show nothing vanish, and so do value files that no table refers to.
  std::vector<Cut> cuts;
  std::vector<Add> adds;
  std::vector<SetLevel> levels;
  std::vector<AddBlobFile> blob_files;

  // Facts of the whole database; set when present.
  std::optional<uint64_t> database_id;
  std::optional<std::string> comparator;
  std::optional<kv::FileNumber> next_file;  // numbers from this one on are unused
  std::optional<kv::Position> next_position;
  std::optional<kv::Sequence> last_sequence;  // of what the tables hold and the log below replay_from held
  struct WalStart {
    uint64_t epoch = 0;  // only this epoch's frames are replayed
    uint64_t salt = 0;
    uint64_t position = 0;      // log position of the first frame to replay
    uint32_t chain = 0;         // checksum of its predecessor
    kv::Sequence sequence = 0;  // the first frame's first sequence
    friend bool operator==(const WalStart&, const WalStart&) = default;
  };
  std::optional<WalStart> wal_start;
  std::optional<uint64_t> wal_durable;                      // log position known durable when this was written
  std::optional<std::vector<kv::FileNumber>> wal_segments;  // files of the log: all must be there at the next open
  // Set by a clean Close: the log ends exactly here; anything else is Corruption. An edit without it takes it back.
  std::optional<uint64_t> clean_wal_end;
  // Frames of this epoch may be in the file STAGING alone, which has this many bytes. An edit without it takes it back.
  std::optional<uint64_t> staging_bytes;
  // Set while a batch larger than a memtable is being applied: the tables hold what the log has up to this sequence, beyond
  // wal_start's; replay leaves it out. WHY: an operand that came twice would count twice. An edit without it takes it back.
  std::optional<kv::Sequence> flushed_sequence;
  // What begins the keys of named keyspaces (kv/key_map.h). An edit without it leaves it; it never changes.
  std::optional<std::string> key_marker;
  // Names of the programs' merge operators that operands ask for, all of them.
  std::optional<std::vector<std::string>> merge_operators;

  friend bool operator==(const VersionEdit&, const VersionEdit&) = default;
};

std::string EncodeVersionEdit(const VersionEdit& edit);
Result<VersionEdit> DecodeVersionEdit(std::string_view bytes);
// One line a fact, for tools and goldens.
std::string PrintVersionEdit(const VersionEdit& edit);

}  // namespace mergedb::format
