// Goal: the steps of a commit group (sequences, WAL, memtable, publication), and the status that each writer
// gets if a step fails. Method: a real WAL on files in memory, behind a host that fails on request.
#include "write/writer_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <list>
#include <thread>
#include <vector>

#include "mergedb/write_batch.h"
#include "testing/fault_file_system.h"
#include "testing/manual_executor.h"
#include "testing/status_matchers.h"
#include "testing/waiting_thread.h"
#include "write/memory_pool.h"

namespace mergedb::write {
namespace {

using testing::FileOp;
using testing::StatusIs;
using testing::WaitingThread;

constexpr size_t kMemtableBytes = 32 << 10;

class FakeHost final : public Host {
 public:
  FakeHost() {
    EXPECT_OK(files.CreateDirectory("/d"));
    auto made = wal::Wal::Create({.file_system = &files,
                                  .executor = &executor,
                                  .directory = "/d",
                                  .buffer_bytes = 32 << 10,
                                  .segment_bytes = 1 << 20,
                                  .allocate_number = [this] { return kv::FileNumber{next_file++}; },
                                  .reusable_segments = {}});
    EXPECT_OK(made.status());
    current_wal.Replace(std::move(*made), 1);
  }
  void Seal() {
    memtables.push_back(pool->NewMemtable(order));
    target->active = memtables.back();
  }
  // The queue whose host this is.
  void Serve(WriterQueue& queue) {
    target = &queue.target();
    Seal();
  }

  Status CheckConflicts(const Change& change) override {
    return KeyOf(change) == conflict_key ? Status::Conflict("somebody wrote it") : Status();
  }
  Status BeforeGroup(size_t) override {
    ++groups;
    if (const auto act = std::exchange(before_next_group, nullptr)) act();
    return before_group;
  }
  Status MakeMemtableRoom(const Room& room, bool must) override {
    if (active().HasRoomFor(room.records, room.bytes)) return {};
    if (!must) RETURN_IF_ERROR(make_room);
    if (target->pieces_from) sealed_pieces_from = target->pieces_from->position;
    Seal();
    return {};
  }
  bool FreeFor(const Status& why) override {
    const auto& free = why.IsBusy() ? free_descriptors : free_space;
    waits_for_descriptors += why.IsBusy();
    return free && (free(), true);
  }
  void FrameFailed(const Change& change, const Status& why) override {
    withdrawn.emplace_back(KeyOf(change));
    if (why.outcome_unknown()) wal_failure = why;
  }
  void GroupFailed(const Status& why) override { wal_failure = why; }
  void Publish(kv::Sequence last, bool in_pieces) override {
    EXPECT_GT(last, published);
    EXPECT_EQ(target->pieces_from, std::nullopt) << "readers that see a large batch see all of it";
    published = last;
    published_in_pieces = in_pieces;
    entries_when_published = entries();
  }

  static std::string_view KeyOf(const Change& change) {
    return change.record() == nullptr ? std::string_view() : change.record()->key;
  }
  wal::Wal& wal() { return current_wal.wal(); }
  memtable::Memtable& active() { return *memtables.back(); }

  uint64_t entries() const {
    uint64_t sum = 0;
    for (const auto& table : memtables) sum += table->entries();
    return sum;
  }

  testing::FaultFileSystem files;
  testing::ManualExecutor executor;
  const kv::Order order{BytewiseComparator()};
  const std::shared_ptr<MemoryPool> pool = std::make_shared<MemoryPool>(kMemtableBytes, 2);
  uint64_t next_file = 1;
  std::vector<std::shared_ptr<memtable::Memtable>> memtables;
  kv::Sequence published = 0;
  uint64_t entries_when_published = 0;
  uint64_t groups = 0;
  bool published_in_pieces = false;
  std::optional<uint64_t>
      sealed_pieces_from;  // the last memtable that became immutable amid a batch needs the WAL here
  std::string conflict_key = "none";
  std::vector<std::string> withdrawn;
  Status before_group, make_room, wal_failure;
  std::function<void()> before_next_group;  // called once
  std::function<void()> free_descriptors;   // null: no compaction runs
  std::function<void()> free_space;         // null: there is nothing to give back
  int waits_for_descriptors = 0;
  wal::CurrentWal current_wal;
  WriteTarget* target = nullptr;
};

WriteTarget TargetOf(const FakeHost& host) {
  return {.current_wal = host.current_wal, .memtable_bytes = kMemtableBytes, .clock = nullptr};
}

class WriterQueueTest : public ::testing::Test {
 protected:
  Status Put(const std::string& key, Durability durability = Durability::kProcessCrash) {
    return queue_.Commit({.what = Record{.key = key, .value = "value"}, .durability = durability});
  }
  Status Write(const WriteBatch& batch) {
    return queue_.Commit({.what = Batch{.bytes = batch.rep(), .records = batch.count()}});
  }
  void SetUp() override { host_.Serve(queue_); }
  FakeHost host_;
  WriterQueue queue_{host_, TargetOf(host_)};
};

TEST_F(WriterQueueTest, GivesEachRecordASequenceAndPublishesTheLast) {
  ASSERT_OK(Put("a"));
  WriteBatch batch;
  batch.Put("b", "1");
  batch.Delete("a");
  ASSERT_OK(Write(batch));
  EXPECT_EQ(host_.published, 3u);
  EXPECT_EQ(host_.entries(), 3u);
  EXPECT_EQ(host_.wal().next_sequence(), 4u);
  EXPECT_EQ(queue_.counters().records, 3u);
}

// A reader that takes the sequence at that moment must find all of the batch.
TEST_F(WriterQueueTest, PublishesWhatTheMemtableHolds) {
  ASSERT_OK(Put("a"));
  EXPECT_EQ(host_.entries_when_published, 1u);
  WriteBatch batch;
  batch.Put("b", "1");
  batch.Delete("a");
  ASSERT_OK(Write(batch));
  EXPECT_EQ(host_.entries_when_published, 3u);
  ASSERT_OK(Put("c", Durability::kNoWal));
  EXPECT_EQ(host_.entries_when_published, 4u);
}

TEST_F(WriterQueueTest, SyncsOnlyWhenAsked) {
  ASSERT_OK(Put("a"));
  EXPECT_EQ(host_.wal().durable_position(), 0u);
  ASSERT_OK(Put("b", Durability::kSynced));
  EXPECT_EQ(host_.wal().durable_position(), host_.wal().end().position);
}

TEST_F(WriterQueueTest, SkipsSequencesInTheWalForWritesWithoutIt) {
  ASSERT_OK(Put("a", Durability::kNoWal));
  EXPECT_EQ(host_.wal().end().position, 0u);
  EXPECT_EQ(host_.published, 1u);
  ASSERT_OK(Put("b"));
  EXPECT_EQ(host_.published, 2u);
}

TEST_F(WriterQueueTest, WritesNothingWhenTheHostRefuses) {
  host_.before_group = Status::IOError("refused");
  EXPECT_THAT(Put("a"), StatusIs(Code::kIOError));
  EXPECT_FALSE(Put("a").outcome_unknown());
  EXPECT_EQ(host_.wal().end().position, 0u);
  EXPECT_EQ(host_.entries(), 0u);
}

TEST_F(WriterQueueTest, SaysThatAFailedSyncLeavesTheOutcomeUnknown) {
  ASSERT_OK(Put("a", Durability::kSynced));
  host_.files.AddFault({.op = FileOp::kSync});
  const Status status = Put("b", Durability::kSynced);
  EXPECT_THAT(status, StatusIs(Code::kIOError));
  EXPECT_TRUE(status.outcome_unknown());
  EXPECT_FALSE(host_.wal_failure.ok());
  EXPECT_EQ(host_.published, 1u);  // not visible
  EXPECT_EQ(host_.entries(), 1u);
  EXPECT_FALSE(Put("c").ok());  // the WAL has failed
}

WriteBatch LargeBatch() {
  WriteBatch batch;
  for (int i = 0; i < 100; ++i) batch.Put("key" + std::to_string(i), std::string(1000, 'v'));
  return batch;
}

TEST_F(WriterQueueTest, AConflictLeavesNoTraceInWalOrMemory) {
  ASSERT_OK(Put("a"));
  host_.conflict_key = "b";
  const wal::Mark before = host_.wal().end();
  EXPECT_THAT(Put("b"), StatusIs(Code::kConflict));
  EXPECT_EQ(host_.wal().end().position, before.position);
  EXPECT_EQ(host_.entries(), 1u);
  EXPECT_EQ(host_.published, 1u);
  ASSERT_OK(Put("c"));
  EXPECT_EQ(host_.published, 2u);
}

// ---- the writers' lock

TEST_F(WriterQueueTest, AMemberThatFoundNoPlaceInTheWalIsWithdrawn) {
  host_.files.AddFault(
      {.op = FileOp::kWrite, .path_contains = ".seg", .sticky = true, .status = Status::NoSpace("full")});
  Status status;
  kv::Sequence published = 0;
  for (int i = 0; i < 10'000 && status.ok(); ++i) {  // until the WAL buffer, which cannot be written out, is full
    published = host_.published;
    status = queue_.Commit({.what = Record{.key = "key" + std::to_string(i), .value = std::string(1000, 'v')}});
  }
  EXPECT_THAT(status, StatusIs(Code::kNoSpace));
  EXPECT_EQ(host_.withdrawn.size(), 1u);
  EXPECT_EQ(host_.published, published);
}

TEST_F(WriterQueueTest, AWriteThatFoundNoDiskSpaceIsTriedOnceMoreIfThereIsSome) {
  const auto fill = [&] {
    host_.files.AddFault(
        {.op = FileOp::kWrite, .path_contains = ".seg", .sticky = true, .status = Status::NoSpace("full")});
  };
  for (const bool is_large : {false, true}) {
    int freed = 0;
    fill();
    host_.free_space = [&] { ++freed, host_.files.ClearFaults(); };
    const auto write = [&] {
      if (!is_large) return queue_.Commit({.what = Record{.key = "key", .value = std::string(1000, 'v')}});
      WriteBatch batch;
      for (int k = 0; k < 25; ++k) batch.Put("key" + std::to_string(k), std::string(4000, 'v'));
      return Write(batch);
    };
    for (int i = 0; i < 1000 && freed == 0; ++i) ASSERT_OK(write());
    EXPECT_EQ(freed, 1);
    fill();
    host_.free_space = [&] { ++freed; };
    Status status;
    for (int i = 0; i < 1000 && status.ok(); ++i) status = write();
    EXPECT_THAT(status, StatusIs(Code::kNoSpace));
    EXPECT_EQ(freed, 2) << "a host that gives back what the call took ends";
    host_.files.ClearFaults();
    EXPECT_OK(write());
  }
}

// A write that left nothing in the WAL has a known outcome, and the WAL stays usable.
TEST_F(WriterQueueTest, ASyncedWriteWithoutAFrameSyncsNothing) {
  ASSERT_OK(Put("a"));
  host_.conflict_key = "b";
  host_.files.AddFault({.op = FileOp::kSync});
  const Status status = Put("b", Durability::kSynced);
  EXPECT_THAT(status, StatusIs(Code::kConflict));
  EXPECT_FALSE(status.outcome_unknown());
  EXPECT_OK(host_.wal_failure);
  EXPECT_EQ(host_.files.faults_hit(), 0u);
  host_.files.ClearFaults();
  ASSERT_OK(Put("c", Durability::kSynced));
  EXPECT_EQ(host_.wal().durable_position(), host_.wal().end().position);
}

// The WAL needs a segment, and a compaction holds all descriptors.
TEST_F(WriterQueueTest, AWriteWaitsForADescriptorThatACompactionHolds) {
  const auto write_until_refused = [&](bool is_large) {
    host_.files.SetDescriptorsMax(host_.files.descriptors());
    const int before = host_.waits_for_descriptors;
    Status status;
    for (int i = 0; status.ok() && host_.waits_for_descriptors == before && i < 1000; ++i) {
      WriteBatch batch;
      for (int k = 0; k < (is_large ? 25 : 1); ++k) batch.Put("key" + std::to_string(k), std::string(4000, 'v'));
      status = Write(batch);
    }
    EXPECT_EQ(host_.waits_for_descriptors, before + 1);
    return status;
  };
  for (const bool is_large : {false, true}) {
    host_.free_descriptors = [&] { host_.files.SetDescriptorsMax(UINT64_MAX); };
    EXPECT_OK(write_until_refused(is_large));
    host_.free_descriptors = nullptr;
    EXPECT_THAT(write_until_refused(is_large), StatusIs(Code::kBusy));
    host_.files.SetDescriptorsMax(UINT64_MAX);
    EXPECT_OK(Put("after"));
  }
}

TEST_F(WriterQueueTest, TheWritersLockKeepsOthersAsideInTheOrderOfTheirComing) {
  const int owner = 0;
  ASSERT_OK(queue_.LockWriters(&owner, 0));
  std::list<WaitingThread> others;
  for (const char* key : {"a", "b", "c"}) others.emplace_back([this, key] { EXPECT_OK(Put(key)); });
  EXPECT_EQ(host_.published, 0u);
  ASSERT_OK(queue_.Commit({.what = Record{.key = "mine", .value = "value"}, .owner = &owner}));
  EXPECT_EQ(host_.published, 1u);
  { WriterQueue::ExclusiveSection section(queue_); }  // an exclusive section ignores the writers' lock
  queue_.UnlockWriters(&owner);
  for (WaitingThread& other : others) other.join();
  EXPECT_EQ(host_.published, 4u);
  memtable::Memtable::Found found;
  ASSERT_TRUE(host_.active().Get("a", kv::kSequenceMax, &found));
  EXPECT_EQ(kv::SequenceOf(found.tag), 2u);
  ASSERT_TRUE(host_.active().Get("c", kv::kSequenceMax, &found));
  EXPECT_EQ(kv::SequenceOf(found.tag), 4u);
}

TEST_F(WriterQueueTest, TryEnterFailsWhileAnotherWriterIsInTheSection) {
  {
    const WriterQueue::ExclusiveSection first(queue_, std::try_to_lock);
    EXPECT_TRUE(first.is_taken());
    const WriterQueue::ExclusiveSection second(queue_, std::try_to_lock);
    EXPECT_FALSE(second.is_taken());
  }
  {
    const WriterQueue::ExclusiveSection waiting(queue_);
    EXPECT_TRUE(waiting.is_taken());
    EXPECT_FALSE(WriterQueue::ExclusiveSection(queue_, std::try_to_lock).is_taken());
  }
  ASSERT_OK(Put("a"));
  EXPECT_TRUE(WriterQueue::ExclusiveSection(queue_, std::try_to_lock).is_taken());
}

// A lone writer is not in the queue. Writers that arrive while it commits still wait for it, and continue
// after it.
TEST_F(WriterQueueTest, ASingleWriterHasTheSectionUntilItIsDone) {
  for (int round = 0; round < 3; ++round) {
    const int owner = 0;
    std::vector<std::thread> others;
    const kv::Sequence before = host_.published;
    host_.before_next_group = [&] {
      EXPECT_FALSE(WriterQueue::ExclusiveSection(queue_, std::try_to_lock).is_taken());
      others.emplace_back([&] {
        const WriterQueue::ExclusiveSection section(queue_);
        EXPECT_GE(host_.published, before + 1);
      });
      others.emplace_back([&] { EXPECT_OK(Put("second")); });
      others.emplace_back([&] {
        EXPECT_OK(queue_.LockWriters(&owner, UINT64_MAX));
        EXPECT_GE(host_.published, before + 1);
        queue_.UnlockWriters(&owner);
      });
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      EXPECT_EQ(host_.published, before);
      EXPECT_FALSE(WriterQueue::ExclusiveSection(queue_, std::try_to_lock).is_taken());
    };
    ASSERT_OK(Put("first"));
    for (std::thread& other : others) other.join();
    EXPECT_EQ(host_.published, before + 2);
    EXPECT_TRUE(WriterQueue::ExclusiveSection(queue_, std::try_to_lock).is_taken());
  }
}

TEST_F(WriterQueueTest, TheWritersLockIsHandedOnBeforeThoseWhoCameLater) {
  const int first = 0, second = 0;
  ASSERT_OK(queue_.LockWriters(&first, 0));
  WaitingThread locker([&] {
    EXPECT_OK(queue_.LockWriters(&second, UINT64_MAX));
    EXPECT_EQ(host_.published, 0u);
    EXPECT_OK(queue_.Commit({.what = Record{.key = "locked", .value = "value"}, .owner = &second}));
    queue_.UnlockWriters(&second);
  });
  WaitingThread writer([&] {
    EXPECT_OK(Put("later"));
    EXPECT_EQ(host_.published, 2u);
  });
  queue_.UnlockWriters(&first);
  locker.join();
  writer.join();
}

TEST_F(WriterQueueTest, TheWritersLockIsBusyForWhoWillNotOrMustNotWait) {
  const int owner = 0, other = 0;
  ASSERT_OK(queue_.LockWriters(&owner, 0));
  EXPECT_THAT(Put("a"), StatusIs(Code::kBusy));  // this thread would wait for itself
  EXPECT_THAT(queue_.LockWriters(&other, UINT64_MAX), StatusIs(Code::kBusy));
  std::thread([&] {
    EXPECT_THAT(queue_.LockWriters(&other, 0), StatusIs(Code::kBusy));
    EXPECT_THAT(queue_.LockWriters(&other, 1'000'000), StatusIs(Code::kBusy));
  }).join();
  queue_.UnlockWriters(&owner);
  EXPECT_OK(Put("a"));
  EXPECT_OK(queue_.LockWriters(&other, 0));
  queue_.UnlockWriters(&other);
}

TEST_F(WriterQueueTest, WhoWaitsForTheWritersLockIsToldOfTheEnd) {
  const int owner = 0, other = 0;
  ASSERT_OK(queue_.LockWriters(&owner, 0));
  WaitingThread writer([&] { EXPECT_THAT(Put("a"), StatusIs(Code::kShuttingDown)); });
  WaitingThread locker([&] { EXPECT_THAT(queue_.LockWriters(&other, UINT64_MAX), StatusIs(Code::kShuttingDown)); });
  queue_.Stop();
  writer.join();
  locker.join();
  std::thread([&] { EXPECT_THAT(Put("a"), StatusIs(Code::kShuttingDown)); }).join();
  queue_.UnlockWriters(&owner);
}

// Symptom: Close beside a Begin with a time limit reads a null pointer, if the limit expires as the queue
// closes.
TEST_F(WriterQueueTest, TheEndMayComeTogetherWithTheLimitOfAWait) {
  for (int i = 0; i < 3'000; ++i) {
    WriterQueue queue(host_, TargetOf(host_));
    const int owner = 0, other = 0;
    ASSERT_OK(queue.LockWriters(&owner, 0));
    std::atomic<bool> has_begun = false;
    const uint64_t limit_nanos = 20'000 + 100 * static_cast<uint64_t>(i % 1'000);
    std::thread locker([&] {
      has_begun = true;
      const Status status = queue.LockWriters(&other, limit_nanos);
      EXPECT_TRUE(status.code() == Code::kShuttingDown || status.code() == Code::kBusy) << status.ToString();
    });
    while (!has_begun) std::this_thread::yield();
    const auto stop_at = std::chrono::steady_clock::now() + std::chrono::microseconds(90);
    while (std::chrono::steady_clock::now() < stop_at) {}
    queue.Stop();
    locker.join();
    queue.UnlockWriters(&owner);
  }
}

// Symptom: a put near the largest sequence is acknowledged, and the next open refuses the WAL.
TEST_F(WriterQueueTest, NoFrameIsWrittenThatReplayWouldRefuse) {
  WriteBatch small;
  small.Put("a", "value");
  for (const WriteBatch& batch : {LargeBatch(), small}) {
    host_.wal().SkipTo(kv::kSequenceMax - batch.rep().size());
    EXPECT_OK(Write(batch)) << batch.count();
    EXPECT_THAT(Write(batch), StatusIs(Code::kNotSupported)) << batch.count();
  }
  EXPECT_THAT(Put("a"), StatusIs(Code::kNotSupported));
  EXPECT_LE(host_.published, kv::kSequenceMax);
}

TEST_F(WriterQueueTest, AppliesALargeBatchInPiecesAndPublishesItWhole) {
  ASSERT_OK(Write(LargeBatch()));
  EXPECT_EQ(host_.published, 100u);
  EXPECT_EQ(host_.entries(), 100u);
  EXPECT_GT(host_.memtables.size(), 2u);
  EXPECT_TRUE(host_.published_in_pieces);
  EXPECT_EQ(host_.sealed_pieces_from, 0u);
  EXPECT_EQ(host_.wal().durable_position(), host_.wal().end().position);  // before a piece can reach a table
}

TEST_F(WriterQueueTest, CountsALargeBatchAsAGroup) {
  ASSERT_OK(Put("a"));
  ASSERT_OK(Write(LargeBatch()));
  EXPECT_EQ(queue_.counters().writes, 2u);
  EXPECT_EQ(queue_.counters().records, 101u);
  EXPECT_EQ(queue_.counters().groups, 2u);
}

TEST_F(WriterQueueTest, NeverLeavesALargeBatchHalfApplied) {
  host_.make_room = Status::NoSpace("no flush, no room");
  ASSERT_OK(Write(LargeBatch()));  // it is in the WAL, so it must be applied
  EXPECT_EQ(host_.entries(), 100u);
  EXPECT_EQ(host_.published, 100u);
}

TEST_F(WriterQueueTest, LeavesNoTraceOfALargeBatchThatDidNotFitTheDisk) {
  host_.files.AddFault(
      {.op = FileOp::kWrite, .path_contains = ".seg", .sticky = true, .status = Status::NoSpace("full")});
  EXPECT_THAT(Write(LargeBatch()), StatusIs(Code::kNoSpace));
  EXPECT_EQ(host_.entries(), 0u);
  host_.files.ClearFaults();
  ASSERT_OK(Put("a"));
  EXPECT_EQ(host_.published, 1u);
}

constexpr int kThreads = 4;

void OnThreads(const std::function<void(int)>& act) {
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(act, i);
  for (auto& thread : threads) thread.join();
}

TEST_F(WriterQueueTest, CommitsForManyThreadsAtOnce) {
  constexpr int kWritesEach = 50;
  OnThreads([this](int i) {
    for (int n = 0; n < kWritesEach; ++n) {
      if (n % 10 == 0) WriterQueue::ExclusiveSection section(queue_);
      EXPECT_OK(Put(std::to_string(i * 1000 + n), n % 25 == 0 ? Durability::kSynced : Durability::kProcessCrash));
    }
  });
  EXPECT_EQ(host_.published, kThreads * kWritesEach);
  EXPECT_EQ(host_.entries(), kThreads * kWritesEach);
}

// Without a sync and without a pause, lone writers bypass the queue, and queued writers take the exclusive
// section when kYieldNanos have passed.
TEST_F(WriterQueueTest, WhoPassesByTheQueueNeverMeetsWhoLeadsIt) {
  constexpr int kWritesEach = 5'000;
  OnThreads([this](int i) {
    for (int n = 0; n < kWritesEach; ++n) ASSERT_OK(Put(std::to_string(i * 100'000 + n)));
  });
  EXPECT_EQ(host_.published, kThreads * kWritesEach);
  EXPECT_EQ(host_.entries(), kThreads * kWritesEach);
}

// Callers that cannot wait get through among the other writers: the exclusive section of a flush, a synced
// write, the writers' lock of a transaction.
TEST_F(WriterQueueTest, AWriterThatDoesNotBackOffPassesThoseThatDo) {
  std::atomic<bool> is_over = false;
  std::thread other([&] {
    for (int n = 0; n < 100; ++n) {
      { WriterQueue::ExclusiveSection section(queue_); }
      EXPECT_OK(Put("synced", Durability::kSynced));
      EXPECT_OK(queue_.LockWriters(&is_over, UINT64_MAX));
      EXPECT_OK(queue_.Commit({.what = Record{.key = "locked", .value = "value"}, .owner = &is_over}));
      queue_.UnlockWriters(&is_over);
    }
    is_over = true;
  });
  std::atomic<uint64_t> written = 200;
  OnThreads([&](int i) {
    while (!is_over) {
      ASSERT_OK(Put(std::to_string(i)));
      ++written;
    }
  });
  other.join();
  EXPECT_EQ(host_.published, written);
}

}  // namespace
}  // namespace mergedb::write
