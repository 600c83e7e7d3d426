// Goal: `mergedb top`, `why` and `metrics` show the state of a process that has the database open, and its last state
// after a kill; top restores the terminal whichever way it ends. Method: this process, or a child, opens a database on
// real files; the built program runs beside it, also in a pseudo-terminal.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>

#include "db/observe/live_publisher.h"
#include "env/clock.h"
#include "env/hold.h"
#include "env/process.h"
#include "format/live_state.h"
#include "mergedb/db.h"
#include "testing/status_matchers.h"
#include "testing/temp_directory.h"

namespace mergedb::top_test {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

class TopTest : public ::testing::Test {
 protected:
  // Runs a line of the shell, in which $M is the program and $D the database; out_ has what it printed.
  int Run(const std::string& line) {
    const std::string out = home_ + "/out";
    const std::string command = "(M='" MERGEDB_COMMAND "'; D='" + database_ + "'; " + line + ") > " + out + " 2>&1";
    const int status = std::system(command.c_str());
    std::ifstream in(out, std::ios::binary);
    out_.assign(std::istreambuf_iterator<char>(in), {});
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  // WHY not until LIVE exists: it is created empty, and a process killed at that moment leaves no state.
  void WaitForState() {
    for (int i = 0; i < 3'000 && Run("$M top $D --once") != 0; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    ASSERT_EQ(Run("$M top $D --once"), 0) << out_;
  }
  void OpenAndWrite() {
    ASSERT_OK_AND_ASSIGN(db_, DB::Open({.memory_bytes = size_t{8} << 20}, database_));
    for (int i = 0; i < 1'000; ++i) ASSERT_OK(db_->Put({}, "key" + std::to_string(i), "value"));
    ASSERT_OK(db_->Flush());
    WaitForState();
  }

  // Runs top in a pseudo-terminal, sends `keys` after the first screen, then `signal` if it is not 0; terminal_ has
  // what it wrote. Returns the status of waitpid.
  int RunOnTerminal(const std::string& keys, int signal) {
    int controller = -1, line = -1;
    winsize size{.ws_row = 24, .ws_col = 80, .ws_xpixel = 0, .ws_ypixel = 0};
    EXPECT_EQ(openpty(&controller, &line, nullptr, nullptr, &size), 0);
    termios before{};
    EXPECT_EQ(tcgetattr(line, &before), 0);
    const pid_t child = fork();
    if (child == 0) {
      setsid();
      for (const int fd : {0, 1, 2}) dup2(line, fd);
      execl(MERGEDB_COMMAND, MERGEDB_COMMAND, "top", database_.c_str(), "--interval", "0.1",
            static_cast<char*>(nullptr));
      _exit(127);
    }
    terminal_.clear();
    ReadUntil(controller, "q quit");
    EXPECT_EQ(::write(controller, keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
    if (signal != 0) kill(child, signal);
    ReadUntil(controller, "\033[?1049l");
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    termios after{};
    EXPECT_EQ(tcgetattr(line, &after), 0);
    EXPECT_EQ(after.c_lflag, before.c_lflag) << "echo and lines are as before";
    close(controller);
    close(line);
    return status;
  }
  void ReadUntil(int descriptor, const std::string& text) {
    char buffer[4096];
    while (terminal_.find(text) == std::string::npos) {
      const ssize_t count = ::read(descriptor, buffer, sizeof buffer);
      ASSERT_GT(count, 0) << terminal_;
      terminal_.append(buffer, static_cast<size_t>(count));
    }
  }

  const testing::TempDirectory directory_;
  const std::string home_ = directory_.path();
  const std::string database_ = home_ + "/db";
  std::unique_ptr<DB> db_;
  std::string out_, terminal_;
};

TEST_F(TopTest, ShowsTheProcessThatHasTheDatabaseOpen) {
  OpenAndWrite();
  ASSERT_EQ(Run("$M top $D --once"), 0) << out_;
  EXPECT_THAT(out_, HasSubstr("process " + std::to_string(getpid()) + ", open for "));
  EXPECT_THAT(out_, HasSubstr("\nstalls      write delay "));
  EXPECT_THAT(out_, HasSubstr("\nlimits      nothing limits the database now\n"));
  EXPECT_THAT(out_, HasSubstr("\n   RUN  LEVEL  TABLES"));
  std::istringstream lines(out_);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
  const std::string once = out_;
  ASSERT_EQ(Run("$M top $D"), 0) << "stdout is no terminal";
  EXPECT_THAT(out_, HasSubstr("\nstalls      write delay "));

  ASSERT_EQ(Run("$M top $D --json"), 0);
  const auto json = nlohmann::json::parse(out_);
  EXPECT_EQ(json["pid"], getpid());
  EXPECT_EQ(json["has_ended"], false);
  EXPECT_EQ(json["metrics"]["writes"], 1'000);
  EXPECT_EQ(json["runs"][0]["entries"], 1'000);
  EXPECT_GT(json["rates_per_second"]["writes"], 0.0);

  ASSERT_EQ(Run("$M why $D"), 0);
  EXPECT_THAT(out_, HasSubstr("Nothing limits the database now: "));
  ASSERT_EQ(Run("$M why $D --json"), 0);
  EXPECT_EQ(nlohmann::json::parse(out_)["limits"].size(), 0u);

  ASSERT_EQ(Run("$M metrics $D"), 0);
  EXPECT_THAT(out_, ContainsRegex("\nwrites +1000 count\n")) << "a counter of the writer";
  ASSERT_EQ(Run("$M metrics $D --prometheus"), 0);
  EXPECT_THAT(out_, HasSubstr("\nmergedb_writes_total{database=\"" + database_ + "\"} 1000\n"));
  EXPECT_THAT(out_, HasSubstr("\n# TYPE mergedb_live_age_seconds gauge\n"));
  EXPECT_THAT(out_, HasSubstr("\n# TYPE mergedb_write_latency_seconds histogram\n"));
  EXPECT_THAT(out_,
              HasSubstr("\nmergedb_write_latency_seconds_bucket{database=\"" + database_ + "\",le=\"1.28e-07\"} "));
  std::string property;
  ASSERT_TRUE(db_->GetProperty("mergedb.prometheus", &property));
  // The writer is idle, so its file LIVE has the present counts; the longest time is rounded up.
  const auto histogram_of = [](const std::string& text) {
    const size_t from = text.find("# HELP mergedb_write_latency_seconds ");
    return text.substr(from, text.find("# HELP mergedb_write_latency_max_seconds ") - from);
  };
  EXPECT_EQ(histogram_of(out_), histogram_of(property));
  ASSERT_EQ(Run("$M metrics $D --json"), 0);
  EXPECT_EQ(nlohmann::json::parse(out_)["writes"], 1'000);
}

TEST_F(TopTest, SaysThatThereIsNothingToShow) {
  ASSERT_OK_AND_ASSIGN(db_, DB::Open({}, database_));
  ASSERT_OK(db_->Close());
  EXPECT_EQ(Run("$M top $D --once"), 3);
  EXPECT_THAT(out_, HasSubstr("no process publishes its state here"));
  EXPECT_EQ(Run("$M why $D"), 3);
  EXPECT_EQ(Run("$M why $D/absent"), 3);
  EXPECT_EQ(Run("$M metrics $D"), 0) << "of a read-only open";
  EXPECT_EQ(Run("$M top $D --interval 0"), 2);
  for (const char* verb : {"top", "why"}) {
    ASSERT_EQ(Run(std::string("$M ") + verb + " --help"), 0);
    EXPECT_THAT(out_, HasSubstr("Examples:\n"));
  }
}

TEST_F(TopTest, ShowsTheLastStateOfAKilledProcess) {
  const pid_t child = fork();
  if (child == 0) {
    auto db = DB::Open({.memory_bytes = size_t{8} << 20}, database_);
    if (!db) _exit(1);
    for (int i = 0; i < 500; ++i) (void)(*db)->Put({}, "key" + std::to_string(i), "value");
    pause();
    _exit(0);
  }
  WaitForState();
  kill(child, SIGKILL);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  ASSERT_EQ(Run("$M top $D --once"), 0) << out_;
  EXPECT_THAT(out_, HasSubstr("process " + std::to_string(child) + " has ENDED without a close"));
  ASSERT_EQ(Run("$M why $D"), 0) << out_;
  EXPECT_THAT(out_, HasSubstr("Nothing limits the database when its process ended: "));
  ASSERT_EQ(Run("$M top $D --json"), 0);
  const auto json = nlohmann::json::parse(out_);
  EXPECT_EQ(json["has_ended"], true);
  EXPECT_EQ(json["metrics"]["writes"], 500);
  ASSERT_EQ(Run("$M verify $D"), 0) << out_;
  ASSERT_EQ(Run("$M metrics $D"), 0);
  EXPECT_THAT(out_, Not(HasSubstr("\nwrites "))) << "of a read-only open: the process has ended";
  ASSERT_EQ(Run("$M put $D key value"), 0);
  EXPECT_EQ(Run("$M top $D --once"), 3) << "the next open for writes removes the state";
}

// An idle process owes no update, so it is not late while it is stopped.
TEST_F(TopTest, TellsOfAStoppedProcess) {
  const pid_t child = fork();
  if (child == 0) {
    auto db = DB::Open({.memory_bytes = size_t{8} << 20}, database_);
    if (!db) _exit(1);
    pause();
    _exit(0);
  }
  WaitForState();
  for (const uint64_t period_nanos : {uint64_t{0}, db::LivePublisher::kSlowPeriodNanos}) {
    ASSERT_EQ(kill(child, SIGSTOP), 0);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, WUNTRACED), child);
    ASSERT_OK_AND_ASSIGN(format::LiveState state, db::ReadLiveState(DefaultEnv().file_system, database_));
    state.times.period_nanos = period_nanos;
    std::ofstream(database_ + "/LIVE", std::ios::binary) << format::EncodeLiveSlot(state);
    for (const char* verb : {"why", "top"}) {
      ASSERT_EQ(Run(std::string("$M ") + verb + " $D"), 0) << out_;
      EXPECT_THAT(out_, HasSubstr("is STOPPED")) << verb;
      ASSERT_EQ(Run(std::string("$M ") + verb + " $D --json"), 0) << out_;
      EXPECT_EQ(nlohmann::json::parse(out_)["is_stopped"], true);
      EXPECT_EQ(nlohmann::json::parse(out_)["did_not_answer"], false);
    }
    ASSERT_EQ(Run("$M why $D"), 0);
    EXPECT_THAT(out_, HasSubstr("kill -CONT " + std::to_string(child)));
    EXPECT_THAT(out_, HasSubstr("Nothing limits the database at the last update"));
    ASSERT_EQ(kill(child, SIGCONT), 0);
  }
  ASSERT_EQ(Run("$M why $D --json"), 0);
  EXPECT_EQ(nlohmann::json::parse(out_)["is_stopped"], false);
  kill(child, SIGKILL);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
}

// A process under a light load publishes its state as soon as it finds that a reader holds CURRENT.
TEST_F(TopTest, AsksAProcessUnderALightLoad) {
  FileSystem* const files = DefaultEnv().file_system;
  const std::string path = database_ + "/LIVE", current = database_ + "/CURRENT";
  ASSERT_OK(files->CreateDirectory(database_));
  std::ofstream(current) << "current";
  const auto publish = [&](uint64_t update, uint64_t writes, uint64_t age_nanos) {
    const env::ProcessIdentity process = env::ThisProcess();
    format::LiveState state;
    state.update = update;
    state.process = {.pid = process.pid,
                     .pid_namespace = process.pid_namespace,
                     .start_ticks = process.start_ticks,
                     .boot_id = process.boot_id};
    state.times.period_nanos = db::LivePublisher::kSlowPeriodNanos;
    state.times.updated_boot_nanos = env::BootNanos() - age_nanos;
    format::LiveMetric& metric = state.metrics.emplace_back();
    metric.name = "writes";
    metric.unit = "count";
    metric.value = writes;
    std::string bytes(format::kLiveFileBytes, '\0');
    const std::string slot = format::EncodeLiveSlot(state);
    bytes.replace(static_cast<size_t>(update % 2 * format::kLiveSlotBytes), slot.size(), slot);
    std::ofstream(database_ + "/new", std::ios::binary) << bytes;
    std::filesystem::rename(database_ + "/new", path);
  };
  publish(1, 11, 10'000'000'000);
  ASSERT_EQ(Run("$M why $D"), 0) << out_;
  EXPECT_THAT(out_, HasSubstr(", DOES NOT ANSWER"));
  ASSERT_EQ(Run("$M why $D --json"), 0) << out_;
  EXPECT_EQ(nlohmann::json::parse(out_)["did_not_answer"], true);
  const auto run_beside_answer = [&](uint64_t update, uint64_t writes) {
    const std::jthread process([&](const std::stop_token& stop) {
      while (!stop.stop_requested() && !env::IsHeld(*files, current))
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      publish(update, writes, 0);
    });
    return Run("$M metrics $D");
  };
  ASSERT_EQ(run_beside_answer(2, 22), 0) << out_;
  EXPECT_THAT(out_, ContainsRegex("writes +22 count\n"));
  std::filesystem::resize_file(path, 100);  // damaged: only the process can mend it
  ASSERT_EQ(run_beside_answer(3, 33), 0) << out_;
  EXPECT_THAT(out_, ContainsRegex("writes +33 count\n"));
}

TEST_F(TopTest, RestoresTheTerminal) {
  OpenAndWrite();
  int status = RunOnTerminal("q", 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_THAT(terminal_, HasSubstr("\033[?1049h"));
  status = RunOnTerminal("h", SIGTERM);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
  status = RunOnTerminal("s", SIGINT);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  status = RunOnTerminal("\033[B\033[A\033[5~\033[6~s2\nhxq", 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_THAT(terminal_, HasSubstr("q quit  s seconds"));
}

}  // namespace
}  // namespace mergedb::top_test
