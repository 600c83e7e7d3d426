// Shared by the WAL tests: a WAL on the fault-injecting file system, with sizes so small that a few hundred
// frames wrap the WAL buffer and cross segments. Payloads tell their frame number, so a test checks a replay
// without a list.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "format/file_name.h"
#include "testing/fault_file_system.h"
#include "testing/manual_executor.h"
#include "testing/status_matchers.h"
#include "wal/replay.h"
#include "wal/wal.h"

namespace mergedb::wal {

inline constexpr char kDirectory[] = "/db";
inline constexpr uint64_t kDatabase = 77;

// The payload of frame `index` of a run. It begins with a number; the other bytes follow from it.
inline std::string PayloadOf(uint64_t index, size_t bytes) {
  base::Random random(index * 1000003 + bytes);
  std::string payload(std::max<size_t>(bytes, 8), '\0');
  for (size_t i = 0; i + 8 <= payload.size(); i += 8) {
    const uint64_t word = random.Next();
    payload.replace(i, 8, reinterpret_cast<const char*>(&word), 8);
  }
  payload.replace(0, 8, reinterpret_cast<const char*>(&index), 8);
  return payload;
}

inline Status Append(Wal& log, std::string_view payload, uint64_t records = 1) {
  const std::string_view pieces[] = {payload.substr(0, payload.size() / 3), payload.substr(payload.size() / 3)};
  RETURN_IF_ERROR(log.Append(pieces, records, false));
  return log.WriteThrough();
}

struct Outcome {
  Status status;
  Replayed replayed;
  std::vector<std::pair<kv::Sequence, std::string>> frames;
};

struct ReplayArgs {
  uint64_t epoch = 1;
  uint64_t salt = 42;
  Mark start = {};  // position 0: the beginning
  std::optional<uint64_t> clean_end = {};
  uint64_t durable = 0;
  std::vector<kv::FileNumber> expected = {};
  std::optional<uint64_t> staging_bytes = {};
};

inline Outcome ReplayAll(FileSystem& file_system, const ReplayArgs& args = {}) {
  Outcome outcome;
  const format::VersionEdit::WalStart start = {.epoch = args.epoch,
                                               .salt = args.salt,
                                               .position = args.start.position,
                                               .chain = args.start.chain,
                                               .sequence = args.start.sequence};
  auto replayed = Replay(&file_system, kDirectory, kDatabase, start,
                         {.clean_end = args.clean_end,
                          .durable_position = args.durable,
                          .segments = args.expected,
                          .staging_bytes = args.staging_bytes},
                         [&](kv::Sequence sequence, std::string_view payload) {
                           outcome.frames.emplace_back(sequence, payload);
                           return Status();
                         });
  outcome.status = replayed.status();
  if (replayed) outcome.replayed = std::move(*replayed);
  return outcome;
}

// Returns how many frames were replayed; fails the test if they are not the first ones in order, one sequence
// each.
inline size_t CountPrefix(const Outcome& outcome) {
  for (size_t i = 0; i < outcome.frames.size(); ++i) {
    const std::string& payload = outcome.frames[i].second;
    EXPECT_EQ(outcome.frames[i].first, i + 1);
    EXPECT_EQ(payload, PayloadOf(i, payload.size())) << "frame " << i;
    if (::testing::Test::HasFailure()) break;
  }
  return outcome.frames.size();
}

class WalFixture {
 public:
  WalFixture() : WalFixture(testing::FaultFileSystem::Options{}) {}
  explicit WalFixture(const testing::FaultFileSystem::Options& options) : files(options) {
    EXPECT_OK(files.CreateDirectory(kDirectory));
    EXPECT_OK(files.SyncDirectory("/"));
  }

  Options LogOptions() {
    Options options;
    options.file_system = &files;
    options.executor = &executor;
    options.directory = kDirectory;
    options.database_id = kDatabase;
    options.salt = 42;
    options.buffer_bytes = size_t{32} << 10;
    options.unwritten_bytes_max = size_t{16} << 10;
    options.segment_bytes = size_t{64} << 10;
    options.allocate_number = [this] { return kv::FileNumber(next_file--); };
    return options;
  }
  std::unique_ptr<Wal> Create() { return Create(LogOptions()); }
  std::unique_ptr<Wal> Create(const Options& options) {
    auto log = Wal::Create(options);
    EXPECT_OK(log.status());
    return log ? std::move(*log) : nullptr;
  }
  // What happens within a sync interval: two ticks of the timer, and the work that they schedule.
  void RunInterval() {
    for (int tick = 0; tick < 2; ++tick) {
      executor.RunTimers();
      executor.RunAll();
    }
  }
  std::unique_ptr<testing::FaultFileSystem> Kill() {
    return files.Crash(testing::CrashMode::kKill, testing::CrashModel::kJournaled, 0);
  }
  std::unique_ptr<testing::FaultFileSystem> CutPower() {
    return files.Crash(testing::CrashMode::kMin, testing::CrashModel::kStrict, 0);
  }

  testing::FaultFileSystem files;
  testing::ManualExecutor executor;
  uint64_t next_file = 400;  // counts down: the order of segments must not depend on their numbers
};

}  // namespace mergedb::wal
