// The process under the shim: runs the workload on an engine and reports its progress in the trace or on
// standard output.
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "testing/time_limit.h"
#include "torture/tests.h"
#include "torture/trace.h"

namespace mergedb::torture {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kTriesMax = 3;
constexpr uint64_t kBatchesBeforeFullMin = 50;
constexpr uint64_t kBatchesBeforeFullMax = 250;
constexpr uint64_t kErrorsWhileFull = 100;
constexpr double kFullSeconds = 4;   // then files may grow again, even if the engine has not noticed the full disk
constexpr double kBackSeconds = 10;  // limit for the first successful write without a reopen
constexpr double kGiveUpSeconds = 40;

double SecondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

void Note(Mark mark, uint64_t number) {
  using Function = void(uint32_t, uint64_t);
  static auto* const note = reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, "torture_mark"));
  if (note != nullptr) note(static_cast<uint32_t>(mark), number);
}

void SetFull(bool is_full) {
  using Function = void(int);
  static auto* const set = reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, "torture_set_full"));
  if (set != nullptr) set(is_full ? 1 : 0);
}

[[noreturn]] void Die() {
  std::fflush(stdout);
  kill(getpid(), SIGKILL);
  for (;;) pause();
}

}  // namespace

SharedProgress::SharedProgress(const Order& order) {
  const int fd = open((order.directory + "/progress").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  void* memory = MAP_FAILED;
  if (fd >= 0 && ftruncate(fd, sizeof(Progress)) == 0)
    memory = mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) {
    std::perror("torture: a shared page");
    std::abort();
  }
  close(fd);
  progress_ = static_cast<Progress*>(memory);
}
SharedProgress::~SharedProgress() { munmap(progress_, sizeof(Progress)); }

std::string DatabaseOf(const Order& order) { return order.directory + "/live/db"; }

std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

int RunChild(const Order& order, const ChildOptions& options) {
  const std::string database = DatabaseOf(order);
  std::filesystem::remove_all(database);
  std::filesystem::create_directories(database);
  int ends[2];
  if (pipe(ends) != 0) return -1;
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], 1);
    close(ends[0]);
    close(ends[1]);
    const int null = open("/dev/null", O_WRONLY);
    dup2(null, 2);
    setenv("LD_PRELOAD", MERGEDB_TORTURE_SHIM, 1);
    setenv(kEnvRoot, (order.directory + "/live").c_str(), 1);
    if (!options.trace.empty()) setenv(kEnvTrace, options.trace.c_str(), 1);
    if (options.fail_sync > 0) setenv(kEnvFailSync, std::to_string(options.fail_sync).c_str(), 1);
    const std::string seed = std::to_string(order.seed), batches = std::to_string(order.batches);
    execl("/proc/self/exe", "torture", "child", options.command.c_str(), order.engine.c_str(), "--dir",
          order.directory.c_str(), "--seed", seed.c_str(), "--batches", batches.c_str(), nullptr);
    _exit(127);
  }
  close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t count; (count = read(ends[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<size_t>(count));
  close(ends[0]);
  int outcome = 0;
  waitpid(child, &outcome, 0);
  if (options.output != nullptr) *options.output = std::move(text);
  return WIFSIGNALED(outcome) ? -WTERMSIG(outcome) : WEXITSTATUS(outcome);
}

// Writes all batches, then ends without a close. If a batch fails, the same batch is tried again, so that the
// trace has one sequence of batches in every case.
void WorkAsChild(const Order& order) {
  testing::LimitTime(120);
  auto* const engine = NewEngine(order.engine).release();
  const Workload workload(order.seed);
  std::string error = engine->Open(DatabaseOf(order));
  if (!error.empty()) error = engine->Open(DatabaseOf(order));  // after a failed sync, an engine may need a second try
  for (uint64_t n = 1; error.empty() && n <= order.batches; ++n) {
    const Batch batch = workload.BatchOf(n);
    Note(Mark::kBegun, n);
    for (int tries = 0; tries < kTriesMax; ++tries) {
      error = engine->Write(batch);
      if (error.empty()) break;
      Note(Mark::kFailed, n);
    }
    if (!error.empty()) break;
    Note(Mark::kReturned, n);
    if (batch.is_synced || engine->syncs_each_commit()) Note(Mark::kDurable, n);
  }
  std::printf("%s\n", error.c_str());
  Die();
}

void FillAsChild(const Order& order) {
  setvbuf(stdout, nullptr, _IOLBF, 0);
  auto* const engine = NewEngine(order.engine).release();
  const Workload workload(order.seed);
  const SharedProgress progress(order);
  uint64_t returned = 0;
  if (std::string error = engine->Open(DatabaseOf(order)); !error.empty()) {
    std::printf("open %s\n", error.c_str());
    Die();
  }
  const auto write = [&](uint64_t n) {
    progress->begun = n;
    std::string error = engine->Write(workload.BatchOf(n));
    if (error.empty()) progress->returned = returned = n;
    return error;
  };
  const uint64_t before_full =
      kBatchesBeforeFullMin + order.seed * 37 % (kBatchesBeforeFullMax - kBatchesBeforeFullMin);
  for (uint64_t n = 1; n <= before_full; ++n) (void)write(n);

  const auto start = Clock::now();
  SetFull(true);
  std::thread([&] {
    std::this_thread::sleep_for(std::chrono::duration<double>(kFullSeconds));
    SetFull(false);
    std::this_thread::sleep_for(std::chrono::duration<double>(kGiveUpSeconds - kFullSeconds));
    std::printf("stuck\n");
    Die();
  }).detach();
  double longest = 0;
  std::string error, first_error;
  // Writes on after errors for a while, as a program would that tries again, so that background work also meets
  // the full disk.
  for (uint64_t errors = 0; errors < kErrorsWhileFull && SecondsSince(start) < kFullSeconds;) {
    const auto began = Clock::now();
    error = write(returned + 1);
    longest = std::max(longest, SecondsSince(began));
    if (error.empty()) continue;
    if (errors++ == 0) first_error = error;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  std::printf("error %s\nwritten %llu\nlongest %.2f\n", first_error.c_str(),
              static_cast<unsigned long long>(returned - before_full), longest);
  Pairs found;
  const std::string read_error = engine->Scan(&found);
  std::printf("read %s\n", read_error.c_str());

  SetFull(false);
  const auto freed = Clock::now();
  for (;;) {
    error = write(returned + 1);
    if (error.empty() || SecondsSince(freed) > kBackSeconds) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  std::printf("back %s\nback_seconds %.2f\n", error.c_str(), SecondsSince(freed));
  for (int more = 0; error.empty() && more < 300; ++more) error = write(returned + 1);
  std::printf("after %s\nlived\n", error.c_str());
  Die();
}

}  // namespace mergedb::torture
