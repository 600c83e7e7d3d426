#include "env/mapped_files.h"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <mutex>
#include <utility>

#include "base/fork_safe.h"

namespace mergedb::env {
namespace {

// WHY not base::Mutex: the handler takes it, too. No code that holds it uses guarded bytes, so the handler never waits
// for its own thread.
class SpinLock {
 public:
  void lock() {
    while (is_locked_.test_and_set(std::memory_order_acquire)) sched_yield();
  }
  void unlock() { is_locked_.clear(std::memory_order_release); }

 private:
  std::atomic_flag is_locked_ = ATOMIC_FLAG_INIT;
};

// All guards of the process.
class Registry {
 public:
  static Registry& Get() { return base::ForkSafe<Registry>::Get(); }

  void Add(FaultGuard* guard) {
    const std::scoped_lock lock(mutex_);
    guards_.emplace(guard->data() + guard->size(), guard);
    InstallHandler();
  }
  void Remove(FaultGuard* guard) {
    const std::scoped_lock lock(mutex_);
    guards_.erase(guard->data() + guard->size());
  }
  size_t count() {
    const std::scoped_lock lock(mutex_);
    return guards_.size();
  }
  // For the handler. Null: the address is not guarded.
  FaultGuard* Find(const char* address) {
    const std::scoped_lock lock(mutex_);
    const auto found = guards_.upper_bound(address);
    return found != guards_.end() && found->second->data() <= address ? found->second : nullptr;
  }
  // The handler that was there before.
  void PassOn(int signal, siginfo_t* info, void* context);

 private:
  friend class base::ForkSafe<Registry>;
  void InstallHandler();
  // The bytes are mapped in the child, too.
  void ForgetParentLocked() {}

  SpinLock mutex_;
  std::map<const char*, FaultGuard*> guards_;  // by the end of their bytes
  // Of the first time that the handler was installed, and of the last time.
  struct sigaction first_ = {};
  struct sigaction before_ = {};
  int installs_ = 0;
};

std::atomic<Registry*> g_registry{nullptr};  // of the handler, which initializes no static

void OnSigbus(int signal, siginfo_t* info, void* context) {
  const int error = errno;
  const auto address = static_cast<const char*>(info->si_addr);
  Registry& registry = *g_registry.load(std::memory_order_acquire);
  // A positive si_code: the kernel raised the signal, not a program by kill().
  FaultGuard* const guard = info->si_code > 0 ? registry.Find(address) : nullptr;
  const bool is_taken = guard != nullptr && guard->TakeFault(address);
  errno = error;
  if (!is_taken) registry.PassOn(signal, info, context);
}

void Registry::InstallHandler() {
  struct sigaction now = {};
  if (sigaction(SIGBUS, nullptr, &now) != 0) return;
  if ((now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == OnSigbus) return;
  if (installs_++ == 0) first_ = now;
  before_ = now;
  g_registry.store(this, std::memory_order_release);
  struct sigaction ours = {};
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  ours.sa_sigaction = OnSigbus;
  sigemptyset(&ours.sa_mask);
  (void)sigaction(SIGBUS, &ours, nullptr);  // fails only for a signal that does not exist
}

// A handler that was installed after this one may pass on to this one, which is in front of it again: then the one from
// before both is next.
void Registry::PassOn(int signal, siginfo_t* info, void* context) {
  [[gnu::tls_model("initial-exec")]] static constinit thread_local bool is_passing = false;
  const bool is_loop = installs_ > 1 && is_passing;
  const struct sigaction& next = is_loop ? first_ : before_;
  is_passing = true;
  if ((next.sa_flags & SA_SIGINFO) != 0) {
    next.sa_sigaction(signal, info, context);
  } else if (next.sa_handler != SIG_DFL && next.sa_handler != SIG_IGN) {
    next.sa_handler(signal);
  } else if (next.sa_handler != SIG_IGN || info->si_code > 0) {
    // The load is repeated, or the signal raised again, and the kernel kills the process.
    struct sigaction none = {};
    none.sa_handler = SIG_DFL;
    (void)sigaction(SIGBUS, &none, nullptr);
    if (info->si_code <= 0) (void)raise(signal);
  }
  is_passing = is_loop;
}

}  // namespace

FaultGuard::FaultGuard(const char* data, size_t size, std::string path, std::shared_ptr<base::MappedFaults> faults,
                       Use use)
    : data_(data), size_(size), path_(std::move(path)), faults_(std::move(faults)), use_(use) {
  Registry::Get().Add(this);
}

size_t guarded_count() { return Registry::Get().count(); }

FaultGuard::~FaultGuard() { Registry::Get().Remove(this); }

void FaultGuard::Fail(uint64_t offset) {
  has_failed_.store(true, std::memory_order_release);
  faults_->Note(path_, offset);
}

bool FaultGuard::TakeFault(const char* address) {
  if (use_ == Use::kGivesPointers && base::mapped_reads == 0) return false;
  const auto page_bytes = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t page = reinterpret_cast<uintptr_t>(address) / page_bytes * page_bytes;
  const uint64_t at = page - reinterpret_cast<uintptr_t>(data_);
  Fail(use_ == Use::kWrites ? at % (size_ / 2) : at);  // such a file is mapped twice in a row
  const int rights = use_ == Use::kWrites ? PROT_READ | PROT_WRITE : PROT_READ;
  void* const zeros =
      mmap(reinterpret_cast<void*>(page), page_bytes, rights, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  return zeros != MAP_FAILED;
}

}  // namespace mergedb::env
