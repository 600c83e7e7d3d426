// The options of a database, of reads and of writes. Every field has a default that suits most programs. If
// an option is out of its range, Open returns InvalidArgument.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "mergedb/comparator.h"
#include "mergedb/env.h"
#include "mergedb/event_listener.h"
#include "mergedb/merge_operator.h"

namespace mergedb {

class Snapshot;

enum class OpenMode : uint8_t {
  // opens the database, or creates it if there is none
  kCreateIfMissing,
  // NotFound if there is no database
  kMustExist,
  // creates the database; InvalidArgument if there is one already
  kMustNotExist,
  kReadOnly,  // takes no lock and changes no byte; replays the WAL into memory
};

enum class Style : uint8_t {
  // sorted runs collect in tiers above one bottommost run; the lowest write amplification for a given space bound
  kLazy,
  // level capacities double; full levels are compacted into the first level with room (as the original MergeDB)
  kCascade,
};

enum class Compression : uint8_t { kNone = 0, kSnappy = 1, kZstd = 2, kLz4 = 3 };

// The codec of new tables. Upper tables are rewritten soon; bottommost tables stay.
struct CompressionByTier {
  Compression upper = Compression::kLz4;
  Compression bottom = Compression::kLz4;
};

struct Options {
  // options: begin members (scripts/options.toml)
  // What an open does if there is a database, or none.
  OpenMode mode = OpenMode::kCreateIfMissing;

  // The memory for write buffers and the block cache together. More memory is faster. At least twice
  // write_buffer_bytes, at most 1 PiB. Indexes and filters of open tables come on top. So does the WAL buffer. It lies
  // in the page cache and has twice write_buffer_bytes, rounded up to a power of two; small write buffers get eight
  // times that, at most 64 MiB. The maximum is 256 MiB. It grows with use, and an idle database gives it back. Without
  // use_mapped_wal_buffer it lies in the memory of the process and has at most 16 MiB.
  size_t memory_bytes = size_t{256} << 20;

  // Unflushed writes may take twice this many bytes of memory_bytes, standby memtable included. 0: an eighth of
  // memory_bytes. At least 64 KiB, at most 32 GiB. (LevelDB's write_buffer_size, which also fills twice.)
  size_t write_buffer_bytes = 0;

  // How background compactions arrange the data.
  Style style = Style::kLazy;

  // The codec of new upper tables, which are rewritten soon. compression.bottom is the codec of new bottommost tables,
  // which stay.
  CompressionByTier compression = {};

  // Bits per key of the tables' bloom filters. 0 to 64; 0: no filters. With 10 bits 1 of 100 absent keys costs a read
  // of the table. Bloom filters require the bytewise comparator.
  int bloom_bits_per_key = 10;

  // The target size of a table's blocks before compression. 256 to 4 MiB.
  size_t block_bytes = 4096;

  // Values of at least this many bytes are written once, to a blob file, and tables refer to them. Smaller values are
  // stored in the tables, and each compaction rewrites them. 0: all values are stored in tables. (If a new table would
  // have only a few large values, they stay in the table, too.) A smaller limit reduces compaction writes, but a read
  // of an uncached value needs a second read.
  size_t blob_value_bytes_min = 768;

  // The maximum of open tables; half as many blob files may be open, too. At least 16. The database lowers it to half
  // of RLIMIT_NOFILE.
  size_t open_tables_max = 1000;

  // Tables and blob files up to this many bytes together are mapped into memory and read in place. Files beyond it are
  // read by system calls. 0: no file is mapped. A number above half of the machine's memory (or of its control group)
  // means that half. A mapped block that the page cache holds is read without a system call or a copy, and uses no
  // block cache. If the system cannot read a mapped page (an I/O error of the disk, a file that another program made
  // shorter), the read returns an error and the process goes on, by a handler of the signal SIGBUS that calls the
  // program's own handler for all other faults; a thread that blocks SIGBUS is killed. A block of a table is verified
  // when it is read first, but not when the kernel drops its page and reads it again. A value in a blob file is
  // verified at each read. Mapped pages count as resident memory of the process, though the kernel takes them back when
  // it needs them. Under a limit of addresses (RLIMIT_AS) no file is mapped. docs/decisions/0072-mapped-by-default.md
  // has measurements.
  uint64_t mapped_read_bytes_max = uint64_t{1073741824} << 20;

  // The maximum delay of a put while the disk keeps up with the writes. If the disk cannot keep up, a put waits for
  // space without a time limit; it fails only with an error of the disk. In microseconds, at most one hour.
  uint64_t write_delay_us_max = 10'000;

  // Close waits for running compactions. false: Close stops them at their next step; they start again after the next
  // open.
  bool finish_compactions_on_close = false;

  // The space that a busy database reuses stays allocated when it is at rest, for benchmarks of the steady state. true:
  // the WAL segments, the blocks of the WAL buffer and the recycled files stay allocated at rest, and the recycled
  // files also after Close. The directory is then larger by the bound of the writing database (docs/PROMISES.md).
  // false: WaitForCompaction, five seconds without writes, and Close give this space back.
  bool keep_space_at_rest = false;

  // Records go to a WAL buffer in a mapped file if the file system allows it, so a put needs no system call. false: one
  // write per commit group. Both survive kill -9. A mapped file has risks on a bad disk: docs/PROMISES.md.
  bool use_mapped_wal_buffer = true;

  // An unsynced write is durable (it survives a power loss) at most this long after the call. In milliseconds; at most
  // an hour. Until then the database need not send it to the disk: if its memtable is flushed before, its WAL is never
  // written. A shorter time costs up to one more byte of disk writes per byte written. 0: no limit in time; then a
  // power loss may lose all writes that no table in the MANIFEST holds (docs/PROMISES.md). With any value, every write
  // survives kill -9 once the call returns.
  uint64_t wal_sync_interval_ms = 5000;

  // The order of keys. Not owned; it must outlive the database, its iterators and its snapshots.
  const Comparator* comparator = BytewiseComparator();

  // The program's own merge operators, by name; in C `merge_operator_count` pointers to them. See
  // include/mergedb/merge_operator.h. Built-in operators need no entry.
  std::vector<std::shared_ptr<const MergeOperator>> merge_operators = {};

  // Gets the events of the database (docs/EVENTS.md).
  std::shared_ptr<EventListener> listener = nullptr;

  // The files LOG and LOG.old of the directory hold the newest events as lines of JSON, at most this many bytes
  // together. 0: no LOG is written. Otherwise at least 16 KiB, at most 1 GiB. docs/EVENTS.md.
  uint64_t log_bytes_max = 0;

  // A call that takes at least this long becomes an event with its breakdown. In microseconds; 0: calls are not
  // measured; otherwise each call costs two readings of the clock. At most one hour.
  uint64_t slow_call_us = 0;

  // The program's own files, clock, threads and info log (include/mergedb/env.h). Null members are replaced by those of
  // DefaultEnv(); a null logger stays silent.
  Env env = {};
  // options: end
};

enum class Durability : uint8_t {
  // survives kill -9 once the call returns; a power loss may lose the newest writes, never an older one alone
  kProcessCrash,
  kSynced,  // also survives power loss once the call returns, as does every logged write that committed before it
  kNoWal,   // not written to the WAL: durable after the next Flush or Close
};

struct WriteOptions {
  // When the write is durable.
  Durability durability = Durability::kProcessCrash;
};

struct ReadOptions {
  // Reads the state of this snapshot, which must be of the same database (else InvalidArgument). Null: the
  // newest state.
  const Snapshot* snapshot = nullptr;
  // false: do not verify checksums of what is read from disk.
  bool verify_checksums = true;
  // false: do not add blocks to the block cache; for large scans.
  bool fill_cache = true;
};

}  // namespace mergedb
