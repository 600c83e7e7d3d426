// Goal: a listener hears of what the database does, with the fields of docs/EVENTS.md, in order; it may block, throw
// and call the database, and none of that stops the engine. Method: listeners that record, throw, block and call in;
// files in memory with background work run by hand, and real files with threads.
#include "mergedb/event_listener.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <future>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <thread>

#include "db/state/events.h"
#include "mergedb/checkpoint.h"
#include "testing/manual_clock.h"
#include "testing/simulated_env.h"
#include "testing/status_matchers.h"
#include "testing/temp_directory.h"

namespace mergedb::testing::event_listener_test {
namespace {

using ::testing::HasSubstr;

// Keeps all events, then calls `act`.
class Recorder : public EventListener {
 public:
  explicit Recorder(std::function<void(const Event&)> act = nullptr) : act_(std::move(act)) {}
  void OnEvent(const Event& event) override {
    {
      const std::lock_guard lock(mutex_);
      events_.push_back(event);
    }
    if (act_) act_(event);
  }
  std::vector<Event> events() const {
    const std::lock_guard lock(mutex_);
    return events_;
  }
  std::vector<Event> Of(EventKind kind) const {
    std::vector<Event> found;
    for (const Event& each : events()) {
      if (each.kind == kind) found.push_back(each);
    }
    return found;
  }

 private:
  const std::function<void(const Event&)> act_;
  mutable std::mutex mutex_;
  std::vector<Event> events_;
};

TEST(Event, IsALineOfJson) {
  Event event{.kind = EventKind::kCheckpoint, .time_us = 1'764'129'906'000'007, .fields = {}};
  event.fields = {db::TextField("target", "/a \"b\"\n\xff"), db::NumberField("files", UINT64_MAX)};
  const std::string line = event.ToJson();
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const auto json = nlohmann::json::parse(line);
  EXPECT_EQ(json["time"], "2025-11-26T04:05:06.000007Z");
  EXPECT_EQ(json["event"], "checkpoint");
  EXPECT_EQ(json["target"], "/a \"b\"\n\xef\xbf\xbd");
  EXPECT_EQ(json["files"], UINT64_MAX);
  EXPECT_EQ(event.number("files"), UINT64_MAX);
  EXPECT_EQ(event.number("target"), 0u);
  EXPECT_EQ(event.text("files"), "");
  EXPECT_EQ(event.text("none"), "");
}

TEST(Event, EachKindHasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (int kind = 1; kind <= 15; ++kind) {
    const Event event{.kind = static_cast<EventKind>(kind), .time_us = 0, .fields = {}};
    EXPECT_FALSE(event.name().empty());
    EXPECT_TRUE(names.insert(event.name()).second) << event.name();
  }
  EXPECT_EQ((Event{.kind = static_cast<EventKind>(99), .time_us = 0, .fields = {}}.name()), "");
}

class EventsTest : public ::testing::Test {
 protected:
  Options OptionsWith(std::shared_ptr<EventListener> listener) {
    Options options = sim_.SmallOptions();
    options.listener = std::move(listener);
    return options;
  }
  void Fill(DB& db, int count = 3000) {
    for (int i = 0; i < count; ++i) {
      ASSERT_OK(db.Put({}, "key" + std::to_string(i * 7919 % 5000), std::string(20 + i % 100, 'v')));
      if (i % 50 == 0) sim_.executor.RunAll(1'000'000);
    }
  }

  SimulatedEnv sim_;
};

TEST_F(EventsTest, TellOfOpenFlushCompactionFilesCheckpointAndClose) {
  const auto recorder = std::make_shared<Recorder>();
  {
    ASSERT_OK_AND_ASSIGN(const auto db, DB::Open(OptionsWith(recorder), SimulatedEnv::kPath));
    Fill(*db);
    ASSERT_OK(db->CompactRange(nullptr, nullptr));
    ASSERT_OK(db->WaitForCompaction());
    ASSERT_OK(Checkpoint(*db, "/copy").status());
    EXPECT_FALSE(Checkpoint(*db, "").has_value());
    ASSERT_OK(db->Close());
  }
  const std::vector<Event> events = recorder->events();
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events.front().kind, EventKind::kOpen);
  EXPECT_EQ(events.front().number("read_only"), 0u);
  EXPECT_EQ(events.back().kind, EventKind::kClose) << "nothing follows it";

  // Begins and ends alternate for flushes, and match by their number for compactions.
  bool is_flushing = false;
  size_t flushes = 0, compactions = 0;
  std::set<uint64_t> jobs;
  uint64_t last_time = 0;
  for (const Event& each : events) {
    EXPECT_GE(each.time_us, last_time);
    last_time = each.time_us;
    EXPECT_FALSE(nlohmann::json::parse(each.ToJson(), nullptr, false).is_discarded());
    if (each.kind == EventKind::kFlushBegin) {
      EXPECT_FALSE(std::exchange(is_flushing, true));
      EXPECT_GT(each.number("entries"), 0u);
    } else if (each.kind == EventKind::kFlushEnd) {
      EXPECT_TRUE(std::exchange(is_flushing, false));
      EXPECT_EQ(each.text("status"), "OK");
      EXPECT_GT(each.number("bytes"), 0u);
      EXPECT_GT(each.number("table"), 0u);
      ++flushes;
    } else if (each.kind == EventKind::kCompactionBegin) {
      EXPECT_TRUE(jobs.insert(each.number("job")).second);
      EXPECT_GT(each.number("sources"), 0u);
      EXPECT_GT(each.number("input_bytes"), 0u);
      EXPECT_FALSE(each.text("reason").empty());
      EXPECT_THAT(std::string(each.text("runs")), ::testing::ContainsRegex("^[0-9]+:[0-9]+:[0-9]+:[0-9]+"));
      ++compactions;
    } else if (each.kind == EventKind::kCompactionEnd) {
      EXPECT_EQ(jobs.erase(each.number("job")), 1u);
      EXPECT_EQ(each.text("status"), "OK");
    }
  }
  EXPECT_GT(flushes, 2u);
  EXPECT_GT(compactions, 0u);
  EXPECT_TRUE(jobs.empty());
  EXPECT_GT(recorder->Of(EventKind::kFileMade).size(), flushes);
  EXPECT_FALSE(recorder->Of(EventKind::kFileRemoved).empty());
  const auto checkpoints = recorder->Of(EventKind::kCheckpoint);
  ASSERT_EQ(checkpoints.size(), 2u);
  EXPECT_EQ(checkpoints[0].text("target"), "/copy");
  EXPECT_EQ(checkpoints[0].text("status"), "OK");
  EXPECT_GT(checkpoints[0].number("files"), 0u);
  EXPECT_THAT(std::string(checkpoints[1].text("status")), HasSubstr("empty"));
}

TEST_F(EventsTest, TellOfErrors) {
  const auto recorder = std::make_shared<Recorder>();
  ASSERT_OK_AND_ASSIGN(const auto db, DB::Open(OptionsWith(recorder), SimulatedEnv::kPath));
  ASSERT_OK(db->Put({}, "k", std::string(1000, 'v')));
  sim_.files->AddFault({.op = FileOp::kAnyChange,
                        .path_contains = ".tbl",
                        .sticky = true,
                        .status = Status::IOError("the test breaks it")});
  EXPECT_FALSE(db->Flush().ok());
  sim_.files->ClearFaults();
  ASSERT_OK(db->Flush());
  ASSERT_OK(db->Close());
  const auto errors = recorder->Of(EventKind::kError);
  ASSERT_FALSE(errors.empty());
  EXPECT_EQ(errors[0].text("work"), "flush");
  EXPECT_THAT(std::string(errors[0].text("status")), HasSubstr("the test breaks it"));
  const auto ends = recorder->Of(EventKind::kFlushEnd);
  ASSERT_GE(ends.size(), 2u);
  EXPECT_THAT(std::string(ends.front().text("status")), HasSubstr("the test breaks it"));
  EXPECT_EQ(ends.back().text("status"), "OK");
}

TEST_F(EventsTest, TellWhatRecoveryDropped) {
  {
    ASSERT_OK_AND_ASSIGN(const auto db, sim_.Open());
    for (int i = 0; i < 200; ++i) ASSERT_OK(db->Put({}, "k" + std::to_string(i), std::string(30, 'v')));
    std::string report;
  }
  const auto recorder = std::make_shared<Recorder>();
  Options options = OptionsWith(recorder);
  options.mode = OpenMode::kReadOnly;
  ASSERT_OK_AND_ASSIGN(const auto db, DB::Open(options, SimulatedEnv::kPath));
  std::string report;
  ASSERT_TRUE(db->GetProperty("mergedb.recovery", &report));
  ASSERT_OK(db->Close());
  const auto recoveries = recorder->Of(EventKind::kRecovery);
  ASSERT_EQ(recoveries.size(), report.empty() ? 0u : 1u);
  if (!report.empty()) { EXPECT_EQ(recoveries[0].text("report"), report); }
  ASSERT_EQ(recorder->Of(EventKind::kOpen).size(), 1u);
  EXPECT_EQ(recorder->Of(EventKind::kOpen)[0].number("read_only"), 1u);
}

TEST_F(EventsTest, AListenerThatThrowsGetsTheNextEvent) {
  const auto recorder = std::make_shared<Recorder>([](const Event& event) {
    if (event.kind == EventKind::kFlushBegin) throw std::runtime_error("the listener fails");
    if (event.kind == EventKind::kOpen) throw 7;
  });
  ASSERT_OK_AND_ASSIGN(const auto db, DB::Open(OptionsWith(recorder), SimulatedEnv::kPath));
  ASSERT_OK(db->Put({}, "k", "v"));
  ASSERT_OK(db->Flush());
  ASSERT_OK(db->Close());
  const std::vector<Event> events = recorder->events();
  uint64_t thrown = 0;
  for (const Event& each : events) thrown += each.number("thrown_before");
  EXPECT_EQ(thrown, 1 + recorder->Of(EventKind::kFlushBegin).size());
  EXPECT_EQ(recorder->Of(EventKind::kFlushEnd).size(), recorder->Of(EventKind::kFlushBegin).size());
}

// ---- real files and threads

TEST(EventsWithThreads, AListenerMayCallTheDatabase) {
  const TempDirectory directory;
  DB* opened = nullptr;
  std::promise<void> is_open;
  std::shared_future<void> open = is_open.get_future().share();
  std::atomic<int> calls{0};
  const auto recorder = std::make_shared<Recorder>([&](const Event& event) {
    open.wait();
    std::string value, text;
    // WHY a limit: each write may cause events.
    if (calls < 300) {
      EXPECT_OK(opened->Put({}, "from the listener " + std::to_string(calls++), std::string(200, 'l')));
    }
    EXPECT_OK(opened->Get({}, "from the listener 0", &value));
    EXPECT_TRUE(opened->GetProperty("mergedb.stats", &text));
    EXPECT_OK(opened->Histograms().status());
    // A flush causes events itself.
    if (event.kind == EventKind::kCompactionEnd && calls < 200) { EXPECT_OK(opened->Flush()); }
  });
  Options options{.memory_bytes = 1 << 20, .write_buffer_bytes = 64 << 10};
  options.listener = recorder;
  ASSERT_OK_AND_ASSIGN(auto db, DB::Open(options, directory.path()));
  opened = db.get();
  is_open.set_value();
  std::vector<std::thread> writers;
  for (int thread = 0; thread < 3; ++thread) {
    writers.emplace_back([&, thread] {
      for (int i = 0; i < 1500; ++i)
        EXPECT_OK(opened->Put({}, std::to_string(thread * 10'000 + i), std::string(200, 'v')));
    });
  }
  for (std::thread& each : writers) each.join();
  ASSERT_OK(db->WaitForCompaction());
  ASSERT_OK(db->Close());
  EXPECT_GT(calls.load(), 3);
  std::string text;
  db = nullptr;
}

// The listener blocks from the first event on. The engine flushes, compacts and answers, and drops events at last.
TEST(EventsWithThreads, AListenerThatBlocksStopsNothing) {
  const TempDirectory directory;
  std::promise<void> may_go_on;
  std::shared_future<void> gate = may_go_on.get_future().share();
  const auto recorder = std::make_shared<Recorder>([gate](const Event&) { gate.wait(); });
  Options options{.memory_bytes = 1 << 20, .write_buffer_bytes = 64 << 10};
  options.listener = recorder;
  ASSERT_OK_AND_ASSIGN(auto db, DB::Open(options, directory.path()));
  for (int i = 0; i < 3000; ++i) ASSERT_OK(db->Put({}, std::to_string(i), std::string(200, 'v')));
  ASSERT_OK(db->WaitForCompaction());
  std::string value;
  ASSERT_OK(db->Get({}, "17", &value));
  for (int i = 0; i < 5000; ++i) EXPECT_FALSE(Checkpoint(*db, "").has_value());  // an event each
  EXPECT_LE(recorder->events().size(), 1u);
  may_go_on.set_value();
  ASSERT_OK(db->Close());
  const std::vector<Event> events = recorder->events();
  // All events up to the last checkpoint were queued before the listener went on; those of Close() follow.
  const auto last = std::find_if(events.rbegin(), events.rend(),
                                 [](const Event& each) { return each.kind == EventKind::kCheckpoint; });
  const auto queued = static_cast<size_t>(events.rend() - last);
  EXPECT_GT(queued, 1u);
  EXPECT_LE(queued, 4096u + 1);
  uint64_t dropped = 0;
  for (const Event& each : events) dropped += each.number("dropped_before");
  EXPECT_GT(dropped, 0u);
  EXPECT_GE(events.size() + dropped, 5000u);
}

TEST(EventsWithThreads, AListenerMayCloseTheDatabase) {
  const TempDirectory directory;
  std::unique_ptr<DB> db;
  std::promise<void> is_open, is_closed;
  std::shared_future<void> open = is_open.get_future().share();
  const auto recorder = std::make_shared<Recorder>([&](const Event& event) {
    open.wait();
    if (event.kind != EventKind::kFlushEnd) return;
    EXPECT_OK(db->Close());
    db = nullptr;
    is_closed.set_value();
  });
  Options options;
  options.listener = recorder;
  ASSERT_OK_AND_ASSIGN(db, DB::Open(options, directory.path()));
  ASSERT_OK(db->Put({}, "k", "v"));
  ASSERT_OK(db->Flush());
  is_open.set_value();  // this thread leaves the database to the listener
  is_closed.get_future().wait();
  ASSERT_OK_AND_ASSIGN(db, DB::Open({}, directory.path()));
  std::string value;
  EXPECT_OK(db->Get({}, "k", &value));
}

TEST(EventsWithThreads, TheListenerEndsWithTheDatabase) {
  const TempDirectory directory;
  Options options;
  options.listener = std::make_shared<Recorder>();
  const std::weak_ptr<EventListener> listener = options.listener;
  ASSERT_OK_AND_ASSIGN(auto db, DB::Open(options, directory.path()));
  options.listener = nullptr;
  EXPECT_FALSE(listener.expired());
  db = nullptr;
  EXPECT_TRUE(listener.expired());
}

TEST(EventsWithThreads, AnOpenThatFailsEndsTheListener) {
  Options options{.mode = OpenMode::kMustExist};
  options.listener = std::make_shared<Recorder>();
  EXPECT_FALSE(DB::Open(options, "/nonexistent/database").has_value());
  EXPECT_EQ(options.listener.use_count(), 1);
}

// ---- stalls

TEST(Stalls, TellCauseAndTimeOncePerSecond) {
  ManualClock clock;
  const auto recorder = std::make_shared<Recorder>();
  Options options;
  options.env.clock = &clock;
  options.listener = recorder;
  db::Events events(options, "/db");
  db::Stalls stalls(events);
  for (int i = 0; i < 10; ++i) {
    stalls.NoteDelay(5000, "runs");
    stalls.NoteDelay(700, "runs");  // the stall goes on
    clock.Advance(1'000'000);
    stalls.NoteDelay(0, "wal");
  }
  EXPECT_TRUE(stalls.BeginMemory()) << "each cause has its own second";
  EXPECT_FALSE(stalls.BeginMemory());
  stalls.EndMemory(2'000'000);
  stalls.NoteWal(9'999'999);
  stalls.NoteWal(10'000'000);
  clock.Advance(1'000'000'000);
  stalls.NoteDelay(5000, "space");
  events.StopListener();
  std::string told;
  for (const Event& each : recorder->events())
    told += std::string(each.name()) + " " + std::string(each.text("cause")) + " " +
            std::to_string(each.number("micros")) + "\n";
  EXPECT_EQ(told,
            "stall_begin delay_runs 0\nstall_end delay 1000\n"
            "stall_begin memory 0\nstall_end memory 2000\n"
            "stall_begin wal 0\nstall_end wal 10000\n"
            "stall_begin delay_space 0\n");
}

}  // namespace
}  // namespace mergedb::testing::event_listener_test
