#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <thread>

#include "torture.h"

namespace mergedb::tool::torture {
namespace {

using SteadyClock = std::chrono::steady_clock;

std::atomic<bool> g_is_interrupted{false};

Status SyncAll(const std::string& device) {
  const int descriptor = open(device.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool is_synced = descriptor >= 0 && syncfs(descriptor) == 0;
  const Status status = is_synced ? Status() : Status::IOError(device + ": syncfs: " + std::strerror(errno));
  if (descriptor >= 0) close(descriptor);
  return status;
}

// One line a mark, written at once: what is in a buffer when the power fails is not known to the other machine.
class Printer {
 public:
  explicit Printer(uint64_t id) { Print(HeadOf(id) + "\n"); }
  void Mark(Kind kind, uint64_t number) {
    const auto passed = std::chrono::duration_cast<std::chrono::milliseconds>(SteadyClock::now() - start_).count();
    Print(kNames[static_cast<size_t>(kind)] + (" " + std::to_string(number)) + " " + std::to_string(passed) + "\n");
  }
  Status status() const {
    const std::lock_guard lock(mutex_);
    return status_;
  }

 private:
  void Print(const std::string& line) {
    const std::lock_guard lock(mutex_);
    for (size_t done = 0; status_.ok() && done < line.size();) {
      const ssize_t count = write(STDOUT_FILENO, line.data() + done, line.size() - done);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) status_ = Status::IOError(std::string("stdout: write: ") + std::strerror(errno));
      else done += static_cast<size_t>(count);
    }
  }

  const SteadyClock::time_point start_ = SteadyClock::now();
  mutable std::mutex mutex_;
  Status status_;  // the first error
};

class Runner {
 public:
  Runner(const Load& load, uint64_t id)
      : load_(load),
        id_(id),
        plain_(PlainOf(load.device), id),
        end_(SteadyClock::now() + std::chrono::seconds(load.seconds)) {}
  Status Run();

 private:
  bool GoesOn() const { return !g_is_interrupted && !has_failed_ && (load_.seconds == 0 || SteadyClock::now() < end_); }
  // Calls `act` with 1, 2, 3, ... and prints a mark after each that is OK.
  void Loop(Kind kind, const std::function<Status(uint64_t)>& act);
  Status Write(Kind kind, uint64_t number, Durability durability);
  Status WriteAndFlush(uint64_t number);
  void Fail(const Status& status) {
    const std::lock_guard lock(mutex_);
    if (status_.ok()) status_ = status;
    has_failed_ = true;
  }

  const Load load_;
  const uint64_t id_;
  PlainFiles plain_;
  const SteadyClock::time_point end_;
  std::unique_ptr<DB> db_;
  std::unique_ptr<Printer> printer_;
  std::atomic<bool> has_failed_{false};
  std::mutex mutex_;
  Status status_;
};

void Runner::Loop(Kind kind, const std::function<Status(uint64_t)>& act) {
  for (uint64_t number = 1; GoesOn(); ++number) {
    if (const Status status = act(number); !status.ok()) return Fail(status);
    printer_->Mark(kind, number);
    if (const Status status = printer_->status(); !status.ok()) return Fail(status);
  }
}

Status Runner::Write(Kind kind, uint64_t number, Durability durability) {
  WriteBatch batch;
  for (size_t i = 0; i < kKeysOfAWrite; ++i) {
    const std::string key = KeyOf(kind, number, i);
    batch.Put(key, ContentOf(id_, key, number, number * 37 % 2000));
  }
  return db_->Write({.durability = durability}, batch);
}

Status Runner::WriteAndFlush(uint64_t number) {
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  RETURN_IF_ERROR(Write(Kind::kFlushed, number, Durability::kNoWal));
  return db_->Flush();
}

Status Runner::Run() {
  if (mkdir(HomeOf(load_.device).c_str(), 0700) != 0) {
    if (errno != EEXIST) return Status::IOError(HomeOf(load_.device) + ": mkdir: " + std::strerror(errno));
    return Status::InvalidArgument(HomeOf(load_.device) +
                                   ": exists, from an earlier run; look at it with --verify, then remove it");
  }
  RETURN_IF_ERROR(plain_.Create());
  Options options = DatabaseOptions();
  options.mode = OpenMode::kMustNotExist;
  ASSIGN_OR_RETURN(db_, DB::Open(options, DatabaseOf(load_.device)));
  RETURN_IF_ERROR(SyncAll(load_.device));  // the names of the directories, too
  printer_ = std::make_unique<Printer>(id_);
  std::vector<std::thread> threads;
  const auto start = [&](Kind kind, std::function<Status(uint64_t)> act) {
    threads.emplace_back([this, kind, act = std::move(act)] { Loop(kind, act); });
  };
  start(Kind::kAppend, [&](uint64_t n) { return plain_.Append(n); });
  start(Kind::kOverwrite, [&](uint64_t n) { return plain_.Overwrite(n); });
  start(Kind::kCreate, [&](uint64_t n) { return plain_.CreateFile(n); });
  start(Kind::kReplace, [&](uint64_t n) { return plain_.Replace(n); });
  start(Kind::kSynced, [&](uint64_t n) { return Write(Kind::kSynced, n, Durability::kSynced); });
  start(Kind::kFlushed, [&](uint64_t n) { return WriteAndFlush(n); });
  start(Kind::kUnsynced, [&](uint64_t n) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // so that the marks stay few
    return Write(Kind::kUnsynced, n, Durability::kProcessCrash);
  });
  for (std::thread& thread : threads) thread.join();
  const Status closed = db_->Close();
  return status_.ok() ? closed : status_;
}

}  // namespace

Status Run(const Load& load) {
  g_is_interrupted = false;
  struct sigaction action {
  }, before{};
  action.sa_handler = [](int) { g_is_interrupted = true; };
  sigaction(SIGINT, &action, &before);
  const Status status = Runner(load, std::random_device()()).Run();
  sigaction(SIGINT, &before, nullptr);
  return status;
}

}  // namespace mergedb::tool::torture
