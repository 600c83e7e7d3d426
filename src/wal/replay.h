// Reads the WAL of a closed database: replay for an open, salvage for repair. THREADS: one at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "format/version_edit.h"
#include "kv/key.h"
#include "mergedb/env.h"
#include "wal/wal_options.h"

namespace mergedb::wal {

struct Replayed {
  Mark end;  // where the chain ends
  uint64_t frames = 0;
  uint64_t dropped_bytes = 0;            // of a torn tail: a frame was begun and is not whole
  std::string report;                    // for property mergedb.recovery; empty if nothing was dropped
  std::vector<kv::FileNumber> segments;  // files of this database, of any epoch
};

// The facts about the WAL in the MANIFEST.
struct Expected {
  std::optional<uint64_t> clean_end = {};      // the WAL was closed: it ends exactly here
  uint64_t durable_position = 0;               // the WAL was durable up to here
  std::vector<kv::FileNumber> segments = {};   // files that must exist
  std::optional<uint64_t> staging_bytes = {};  // STAGING must exist with this size: it may hold the newest frames
};

// Takes a frame: its sequence and its payload. WHY a function: an open fills memtables, an inspection counts, and a
// repair checks; all of them are on higher floors.
using ApplyFrame = std::function<Status(kv::Sequence, std::string_view payload)>;

// Reads the WAL from `start`, in order, and calls `apply` for every whole frame. Corruption if damage lies
// below a position that a frame of the epoch says was durable, or if an expected fact does not hold. Writes
// nothing. Memory: the largest frame (as far as files hold its bytes), the buffer and 1 MiB. A frame does not
// say how many sequences it takes, so replay checks only their order. The caller that applies the payloads
// counts; end.sequence is one more than the first sequence of the last frame.
Result<Replayed> Replay(FileSystem* file_system, const std::string& directory, uint64_t database_id,
                        const format::VersionEdit::WalStart& start, const Expected& expected, const ApplyFrame& apply);

// For an open that found no disk space: makes holes of the bytes of STAGING that Replay does not need. Returns their
// number.
// REQUIRES: `replayed` is what Replay returned for `start`, it dropped nothing, and no process writes.
Result<uint64_t> GiveBackStaging(FileSystem* file_system, const std::string& directory, uint64_t start,
                                 const Replayed& replayed);

// Where replay may start in an epoch's chain: from the MANIFEST, or, without one, from segment heads and frames.
struct Origin {
  uint64_t database_id = 0;
  uint64_t epoch = 0;
  uint32_t salt_crc = 0;
  Mark start;
  // Bytes of the stream before `start` that exist but cannot be proved: the predecessor of their frame is lost.
  uint64_t unproved_bytes = 0;
};
Origin OriginOf(uint64_t database_id, const format::VersionEdit::WalStart& start);
// The origin of the newest epoch that a segment head names; empty if there is none. For repair without a MANIFEST.
Result<std::optional<Origin>> FindOrigin(FileSystem* file_system, const std::string& directory);

// As Replay, for a WAL that may be damaged: applies every frame that the chain proves, and reports damage in
// the result.
struct Salvaged {
  Replayed replayed;
  Status verdict;             // OK, or the status that Replay returns for this WAL
  std::vector<Status> flaws;  // of segments and STAGING: missing, cut short, without a head; each with its path
  // Frames above the end of the chain that cannot be proved, because a frame before them is lost.
  uint64_t frames_beyond = 0;
  uint64_t beyond_end = 0;         // position where the last of them ends
  std::string break_file;          // the file where the chain ends: a segment, or STAGING
  uint64_t break_offset = 0;       // in that file
  bool end_is_in_segment = false;  // the head of a segment says that it holds the position where the chain ends
};
// Calls `on_loaded` after it has read STAGING and the heads of the segments, before it reads frames. WHY a function: an
// open beside a writer loads the MANIFEST again in between (db/open_read_only.cc). If `apply` returns Corruption or
// NotSupported for a frame, the chain ends before it, as with damage. Any other error of `apply` is returned.
Result<Salvaged> Salvage(FileSystem* file_system, const std::string& directory, const Origin& origin,
                         const Expected& expected, const ApplyFrame& apply,
                         const std::function<void()>& on_loaded = {});

}  // namespace mergedb::wal
