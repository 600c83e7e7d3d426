// Goal: LOG holds the events as lines of JSON, within its bound, and no error of it ever fails the database or harms
// its data. Method: files in memory with faults, a full disk and torn lines; LOG under other programs' hands.
#include "db/state/event_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <latch>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <thread>
#include <vector>

#include "mergedb/checkpoint.h"
#include "mergedb/repair.h"
#include "testing/manual_clock.h"
#include "testing/simulated_env.h"
#include "testing/status_matchers.h"
#include "testing/waiting_thread.h"
#include "testing/watched_file_system.h"

namespace mergedb::testing::event_log_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string ReadAll(FileSystem& files, const std::string& path) {
  auto file = files.Open(path, {.access = Access::kRead});
  if (!file) return "";
  std::string bytes(*(*file)->Size(), '\0');
  size_t got = 0;
  EXPECT_OK((*file)->ReadAt(0, bytes.size(), bytes.data(), &got));
  EXPECT_EQ(got, bytes.size());
  return bytes;
}

void WriteFile(FileSystem& files, const std::string& path, std::string_view bytes) {
  (void)files.Remove(path);
  ASSERT_OK_AND_ASSIGN(const auto file, files.Open(path, {.access = Access::kCreate}));
  ASSERT_OK(file->WriteAt(0, bytes));
}

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// ---- the file

class EventLogTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_OK(files_.CreateDirectory("/d")); }
  std::unique_ptr<db::EventLog> NewLog(uint64_t bytes_max = 1 << 20) {
    Env env;
    env.file_system = &files_;
    env.clock = &clock_;
    auto log = std::make_unique<db::EventLog>(env, "/d", bytes_max);
    log->Start();
    return log;
  }
  std::string Text() { return ReadAll(files_, "/d/LOG"); }

  FaultFileSystem files_{FaultFileSystem::Options{}};
  ManualClock clock_;
};

TEST_F(EventLogTest, WritesNothingBeforeTheStartAndWithoutLines) {
  Env env;
  env.file_system = &files_;
  env.clock = &clock_;
  db::EventLog log(env, "/d", 1 << 20);
  log.Add("{1}");
  log.Write();
  EXPECT_TRUE(files_.SizeOf("/d/LOG").status().IsNotFound());
  log.Start();
  log.Write();
  EXPECT_EQ(Text(), "{1}\n");
  NewLog()->Write();
  EXPECT_EQ(Text(), "{1}\n");
}

TEST_F(EventLogTest, GoesOnWhereTheLastOpenEnded) {
  for (const char* line : {"{1}", "{2}"}) {
    const auto log = NewLog();
    log->Add(line);
    log->Stop();
  }
  EXPECT_EQ(Text(), "{1}\n{2}\n");
}

TEST_F(EventLogTest, EndsATornLine) {
  WriteFile(files_, "/d/LOG", "{1}\n{\"tor");
  const auto log = NewLog();
  log->Add("{2}");
  log->Write();
  EXPECT_EQ(Text(), "{1}\n{\"tor\n{2}\n");
}

TEST_F(EventLogTest, MovesAForeignLogAside) {
  WriteFile(files_, "/d/LOG", "2026/11/26-04:05:06 Recovering log #3\n");
  const auto log = NewLog();
  log->Add("{1}");
  log->Write();
  EXPECT_EQ(Text(), "{1}\n");
  EXPECT_THAT(ReadAll(files_, "/d/LOG.old"), HasSubstr("Recovering"));
}

// A copy of the database by hard links has this LOG, too.
TEST_F(EventLogTest, ALogWithASecondNameIsNotWritten) {
  WriteFile(files_, "/d/LOG", "{1}\n");
  ASSERT_OK(files_.Link("/d/LOG", "/d/the copy's"));
  const auto log = NewLog();
  log->Add("{2}");
  log->Write();
  EXPECT_EQ(Text(), "{2}\n");
  EXPECT_EQ(ReadAll(files_, "/d/LOG.old"), "{1}\n");
  EXPECT_EQ(ReadAll(files_, "/d/the copy's"), "{1}\n");
}

// An iterator's slow call may write while the database is closed. Afterwards another process has the directory.
TEST_F(EventLogTest, StopWaitsForTheThreadThatWrites) {
  std::latch entered{1}, goes_on{1};
  std::atomic<bool> is_written{false};
  WatchedFileSystem watched(&files_, {.before = [&](const FileCall& call, size_t*) -> Status {
                                        if (call.op != FileOp::kWrite) return {};
                                        entered.count_down();
                                        goes_on.wait();
                                        return {};
                                      },
                                      .after =
                                          [&](const FileCall& call, const Status&) {
                                            if (call.op == FileOp::kWrite) is_written = true;
                                          }});
  Env env;
  env.file_system = &watched;
  env.clock = &clock_;
  db::EventLog log(env, "/d", 1 << 20);
  log.Start();
  log.Add("{1}");
  std::thread writer([&] { log.Write(); });
  entered.wait();
  bool was_written = false;
  {
    const WaitingThread stopper([&] {
      log.Stop();
      was_written = is_written;
    });
    goes_on.count_down();
  }
  writer.join();
  EXPECT_TRUE(was_written);
  log.Add("{2}");
  log.Write();
  EXPECT_EQ(Text(), "{1}\n");
}

TEST_F(EventLogTest, StaysBelowItsBound) {
  constexpr uint64_t kBytesMax = 16 << 10;
  const auto log = NewLog(kBytesMax);
  const std::string filler(200, 'x');
  for (int i = 0; i < 1000; ++i) {
    log->Add("{" + std::to_string(i) + filler + "}");
    log->Write();
    const uint64_t old = files_.SizeOf("/d/LOG.old") ? *files_.SizeOf("/d/LOG.old") : 0;
    ASSERT_LE(*files_.SizeOf("/d/LOG") + old, kBytesMax);
  }
  EXPECT_THAT(Text(), HasSubstr("{999"));
  EXPECT_THAT(ReadAll(files_, "/d/LOG.old") + Text(), HasSubstr("{960")) << "half of the bound is always there";
}

TEST_F(EventLogTest, CountsLinesThatFoundNoRoomInMemory) {
  const auto log = NewLog();
  const std::string line = "{" + std::string(1000, 'x') + "}";
  for (int i = 0; i < 100; ++i) log->Add(line);
  log->Write();
  const auto lines = LinesOf(Text());
  const auto last = nlohmann::json::parse(lines.back());
  EXPECT_EQ(last["event"], "log_lines_lost");
  EXPECT_EQ(last["lines"].get<size_t>() + lines.size() - 1, 100u);
}

TEST_F(EventLogTest, TriesAgainASecondAfterAnError) {
  const auto log = NewLog();
  log->Add("{1}");
  log->Write();
  files_.AddFault({.op = FileOp::kAny, .path_contains = "LOG", .sticky = true, .partial_bytes = 2});
  log->Add("{2}");
  log->Write();
  files_.ClearFaults();
  log->Add("{3}");
  log->Write();
  EXPECT_THAT(Text(), Not(HasSubstr("{3}"))) << "the second is not over";
  clock_.Advance(1'000'000'000);
  log->Write();
  const auto lines = LinesOf(Text());
  EXPECT_EQ(lines.front(), "{1}");
  EXPECT_EQ(lines[lines.size() - 2], "{3}");
  EXPECT_EQ(nlohmann::json::parse(lines.back())["lines"], 1);
}

// Each call of the file system fails once, in any order of calls.
TEST_F(EventLogTest, SurvivesTheFailureOfEachCall) {
  for (uint64_t nth = 1; nth < 60; ++nth) {
    SCOPED_TRACE(nth);
    files_.AddFault({.op = FileOp::kAny, .path_contains = "LOG", .nth = nth});
    const auto log = NewLog(16 << 10);
    for (int i = 0; i < 60; ++i) {
      log->Add("{" + std::string(300, 'x') + "}");
      log->Write();
      clock_.Advance(1'000'000'000);
    }
    log->Add("{\"last\":1}");
    log->Write();
    files_.ClearFaults();
    EXPECT_THAT(Text(), HasSubstr("{\"last\":1}\n"));
    log->Stop();
    (void)files_.Remove("/d/LOG");
    (void)files_.Remove("/d/LOG.old");
  }
}

TEST_F(EventLogTest, OfManyThreadsHasWholeLines) {
  const auto log = NewLog(8 << 20);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 2000; ++i) {
        log->Add("{\"n\":" + std::to_string(thread * 2000 + i) + "}");
        log->Write();
      }
    });
  }
  for (std::thread& each : threads) each.join();
  log->Stop();
  std::vector<bool> seen(8000);
  size_t lost = 0;
  for (const std::string& line : LinesOf(Text())) {
    const auto json = nlohmann::json::parse(line);
    if (json.contains("lines")) {
      lost += json["lines"].get<size_t>();
    } else {
      EXPECT_FALSE(seen[json["n"].get<size_t>()]);
      seen[json["n"].get<size_t>()] = true;
    }
  }
  EXPECT_EQ(static_cast<size_t>(std::ranges::count(seen, true)) + lost, 8000u);
}

// ---- a database with LOG

class LogOfDatabaseTest : public ::testing::Test {
 protected:
  Options WithLog() {
    Options options = sim_.SmallOptions();
    options.log_bytes_max = 64 << 10;
    return options;
  }
  std::string Text() { return ReadAll(*sim_.files, std::string(SimulatedEnv::kPath) + "/LOG"); }
  // Writes, flushes, compacts; every answer must be right.
  void Work(DB& db) {
    for (int i = 0; i < 2000; ++i) {
      ASSERT_OK(db.Put({}, "key" + std::to_string(i), std::string(50, 'v')));
      if (i % 50 == 0) {
        sim_.executor.RunAll(1'000'000);
        sim_.clock.SleepNanos(1'000'000'000);
      }
    }
    ASSERT_OK(db.WaitForCompaction());
    std::string value;
    for (int i = 0; i < 2000; i += 7) ASSERT_OK(db.Get({}, "key" + std::to_string(i), &value));
  }

  SimulatedEnv sim_;
};

TEST_F(LogOfDatabaseTest, HasItsEventsAsLinesOfJson) {
  ASSERT_OK_AND_ASSIGN(const auto db, DB::Open(WithLog(), SimulatedEnv::kPath));
  EXPECT_EQ(LinesOf(Text()).size(), 1u) << "the open is there before DB::Open returns";
  Work(*db);
  ASSERT_OK(db->Close());
  std::set<std::string> events;
  for (const std::string& line : LinesOf(Text())) {
    const auto json = nlohmann::json::parse(line);
    events.insert(json["event"]);
    EXPECT_TRUE(json["time"].is_string());
  }
  for (const char* name : {"open", "flush_begin", "flush_end", "file_made", "close"}) EXPECT_EQ(events.count(name), 1u);
}

TEST_F(LogOfDatabaseTest, IsNotWrittenUnlessAskedFor) {
  ASSERT_OK_AND_ASSIGN(const auto db, sim_.Open());
  Work(*db);
  ASSERT_OK(db->Close());
  EXPECT_TRUE(sim_.files->SizeOf(std::string(SimulatedEnv::kPath) + "/LOG").status().IsNotFound());
}

TEST_F(LogOfDatabaseTest, AnIdleOpenAddsOneLine) {
  for (size_t opens = 1; opens <= 3; ++opens) {
    ASSERT_OK_AND_ASSIGN(const auto db, DB::Open(WithLog(), SimulatedEnv::kPath));
    ASSERT_OK(db->Close());
    EXPECT_EQ(LinesOf(Text()).size(), opens) << Text();
  }
}

TEST_F(LogOfDatabaseTest, OfAReadOnlyOpenBesideTheWriterIsUntouched) {
  ASSERT_OK_AND_ASSIGN(const auto db, DB::Open(WithLog(), SimulatedEnv::kPath));
  ASSERT_OK(db->Put({}, "k", "v"));
  const std::string before = Text();
  Options options = WithLog();
  options.mode = OpenMode::kReadOnly;
  ASSERT_OK_AND_ASSIGN(const auto reader, DB::Open(options, SimulatedEnv::kPath));
  std::string value;
  ASSERT_OK(reader->Get({}, "k", &value));
  ASSERT_OK(reader->Close());
  EXPECT_EQ(Text(), before);
}

TEST_F(LogOfDatabaseTest, ThatCannotBeWrittenFailsNothing) {
  sim_.files->AddFault({.op = FileOp::kAny, .path_contains = "/LOG", .sticky = true});
  ASSERT_OK_AND_ASSIGN(const auto db, DB::Open(WithLog(), SimulatedEnv::kPath));
  Work(*db);
  std::string errors;
  ASSERT_TRUE(db->GetProperty("mergedb.errors", &errors));
  EXPECT_EQ(errors, "");
  ASSERT_OK(db->Close());
}

TEST_F(LogOfDatabaseTest, OnAFullDiskFailsNothing) {
  ASSERT_OK_AND_ASSIGN(const auto db, DB::Open(WithLog(), SimulatedEnv::kPath));
  sim_.files->AddFault({.op = FileOp::kAny,
                        .path_contains = "/LOG",
                        .sticky = true,
                        .status = Status::NoSpace("full"),
                        .partial_bytes = 10});
  Work(*db);
  sim_.files->ClearFaults();
  sim_.clock.SleepNanos(2'000'000'000);
  ASSERT_OK(db->Put({}, "more", "v"));
  ASSERT_OK(db->Flush());
  ASSERT_OK(db->Close());
  EXPECT_THAT(Text(), HasSubstr("\"log_lines_lost\""));
  for (const std::string& line : LinesOf(Text()))
    EXPECT_FALSE(nlohmann::json::parse(line, nullptr, false).is_discarded()) << line;
}

TEST_F(LogOfDatabaseTest, IsNoData) {
  {
    ASSERT_OK_AND_ASSIGN(const auto db, DB::Open(WithLog(), SimulatedEnv::kPath));
    Work(*db);
    ASSERT_OK(Checkpoint(*db, "/copy").status());
    ASSERT_OK(db->Close());
  }
  EXPECT_TRUE(sim_.files->SizeOf("/copy/LOG").status().IsNotFound()) << "a checkpoint leaves it out";
  // Nonsense in its place, and its loss, change nothing.
  for (const char* bytes : {"\xff\x00nonsense", ""}) {
    WriteFile(*sim_.files, std::string(SimulatedEnv::kPath) + "/LOG", bytes);
    ASSERT_OK_AND_ASSIGN(const auto db, DB::Open(WithLog(), SimulatedEnv::kPath));
    ASSERT_OK(db->CheckIntegrity());
    ASSERT_OK(db->Close());
  }
  ASSERT_OK_AND_ASSIGN(const VerifyReport report, Verify(sim_.SmallOptions(), SimulatedEnv::kPath));
  EXPECT_TRUE(report.damages.empty());
  ASSERT_OK(DB::Destroy(sim_.SmallOptions(), SimulatedEnv::kPath));
  const std::string log = std::string(SimulatedEnv::kPath) + "/LOG";
  EXPECT_TRUE(sim_.files->SizeOf(log).status().IsNotFound()) << "Destroy removes it";
  EXPECT_OK(sim_.files->SizeOf(log + ".old").status()) << "the nonsense may be of another program";
}

}  // namespace
}  // namespace mergedb::testing::event_log_test
