// FORMAT: the contents of the MANIFEST (docs/formats/manifest.md). FileMeta describes a table and BlobFileMeta a
// blob file. A VersionEdit is the difference between two Versions.
//
//   edit := (tag varint32, payload length varint32, payload)*      an unknown tag below 64 is NotSupported ("newer
//                                                                  version"), an unknown tag from 64 up is skipped
//
// WHY a VersionEdit has cuts and no removed files: a compaction moves a key range from several runs into one of
// them. The edit "cut [lower, upper) from the run at position 9" says so without file names. A table is removed
// when no virtual table shows it, a blob file when no remaining table refers to it. See
// docs/decisions/0004-edit-cuts.md.
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
  uint64_t unique_id = 0;  // also stored in the file; part of its checksums
  uint64_t records = 0;
  uint64_t record_bytes = 0;  // of all records together

  friend bool operator==(const BlobFileMeta&, const BlobFileMeta&) = default;
};
using BlobFilePtr = std::shared_ptr<const BlobFileMeta>;

// The bytes of one blob file that a table refers to.
struct BlobShare {
  kv::FileNumber file{};
  uint64_t bytes = 0;  // of the records that the table refers to

  friend bool operator==(const BlobShare&, const BlobShare&) = default;
};

// THREADS: immutable once made; shared by pointer.
struct FileMeta {
  kv::FileNumber number{};
  uint64_t bytes = 0;      // of the file
  uint64_t unique_id = 0;  // also stored in the file; part of its checksums, so that a swapped file is detected
  uint64_t entries = 0;
  // Entries that a full compaction drops: deletes, and versions hidden by a newer one, not a MERGE, of this file.
  uint64_t tombstones = 0;
  uint64_t raw_bytes = 0;  // of keys and values before compression
  kv::Sequence smallest_sequence = 0;
  kv::Sequence largest_sequence = 0;
  // Each version and each range tombstone of the table lies between these user keys. The largest key is included,
  // unless `largest_is_open`: then it is the end of a range tombstone, which the range does not include.
  std::string smallest;
  std::string largest;
  bool largest_is_open = false;
  uint64_t range_tombstones = 0;  // not counted in `entries` or `tombstones`
  // Estimated bytes that the range tombstones mask in older tables, and in the values that those refer to. Made
  // when the table was written; stored only in the MANIFEST.
  uint64_t masked_bytes = 0;
  std::vector<BlobShare> values = {};  // by file number, each file once

  uint64_t value_bytes() const {  // of all records that the table refers to
    uint64_t sum = 0;
    for (const BlobShare& share : values) sum += share.bytes;
    return sum;
  }

  friend bool operator==(const FileMeta&, const FileMeta&) = default;
};
using FileMetaPtr = std::shared_ptr<const FileMeta>;

// Half open. nullopt is an open end; {} contains all keys.
struct Bounds {
  std::optional<std::string> lower = {};  // included
  std::optional<std::string> upper = {};  // not included
  friend bool operator==(const Bounds&, const Bounds&) = default;
};

// The level of a run. The cascade style uses it as the level number, the lazy style as the tier.
using Level = uint32_t;
inline constexpr Level kBottommostLevel = 1000;  // the bottommost run of the lazy style

struct VersionEdit {
  struct Cut {  // removes these keys from the run at `position`
    kv::Position position{};
    Bounds bounds;
    friend bool operator==(const Cut&, const Cut&) = default;
  };
  // Adds these keys of `file` to the run at `position`. Creates the run at `level` if it does not exist.
  struct Add {
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
  // Adds a blob file that tables of this edit refer to and that the Version before does not have.
  struct AddBlobFile {
    BlobFilePtr file;
    friend bool operator==(const AddBlobFile& a, const AddBlobFile& b) {
      return a.file == b.file || (a.file && b.file && *a.file == *b.file);
    }
  };
  // Applied in this order: cuts, adds, levels. Then empty runs and unreferenced blob files are removed.
  std::vector<Cut> cuts;
  std::vector<Add> adds;
  std::vector<SetLevel> levels;
  std::vector<AddBlobFile> blob_files;

  // Facts about the whole database. An edit sets only some of them.
  std::optional<uint64_t> database_id;
  std::optional<std::string> comparator;
  std::optional<kv::FileNumber> next_file;  // all numbers from this one on are unused
  std::optional<kv::Position> next_position;
  std::optional<kv::Sequence> last_sequence;  // the newest sequence before `wal_start`
  struct WalStart {
    uint64_t epoch = 0;  // replay reads only frames of this epoch
    uint64_t salt = 0;
    uint64_t position = 0;      // WAL position of the first frame to replay
    uint32_t chain = 0;         // checksum of the frame before it
    kv::Sequence sequence = 0;  // the first frame's first sequence
    friend bool operator==(const WalStart&, const WalStart&) = default;
  };
  std::optional<WalStart> wal_start;
  std::optional<uint64_t> wal_durable;                      // a WAL position known to be durable
  std::optional<std::vector<kv::FileNumber>> wal_segments;  // files of the WAL: all must exist at the next open
  // Set by a clean Close: the WAL ends exactly here, else it is Corruption. An edit without this fact clears it.
  std::optional<uint64_t> clean_wal_end;
  // The size of STAGING, if it alone may store frames of this epoch. An edit without this fact clears it.
  std::optional<uint64_t> staging_bytes;
  // Set while a batch larger than a memtable is applied: the tables contain all changes of the WAL up to this
  // sequence, which is after `wal_start`. Replay skips these changes. WHY: an operand that is applied twice would
  // count twice. An edit without this fact clears it.
  std::optional<kv::Sequence> flushed_sequence;
  // The prefix of all named keyspaces (kv/key_map.h). It never changes; an edit without this fact keeps it.
  std::optional<std::string> key_marker;
  // Names of all merge operators that stored operands need.
  std::optional<std::vector<std::string>> merge_operators;

  friend bool operator==(const VersionEdit&, const VersionEdit&) = default;
};

std::string EncodeVersionEdit(const VersionEdit& edit);
Result<VersionEdit> DecodeVersionEdit(std::string_view bytes);

}  // namespace mergedb::format
