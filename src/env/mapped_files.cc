#include "env/mapped_files.h"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <utility>

namespace mergedb::env {
namespace {

// All guards of the process. WHY a spin lock: the handler takes it, too. No code that holds it reads mapped bytes, so
// the handler never interrupts its own thread there.
class Registry {
 public:
  void Add(FaultGuard* guard) {
    const Hold hold(*this);
    guards_.emplace(guard->data() + guard->size(), guard);
    InstallHandler();
  }
  void Remove(FaultGuard* guard) {
    const Hold hold(*this);
    guards_.erase(guard->data() + guard->size());
  }
  size_t count() {
    const Hold hold(*this);
    return guards_.size();
  }
  // For the handler. Null: the address is not guarded.
  FaultGuard* Find(const char* address) {
    // WHY a limit: in the child of a fork, the thread that held the lock may be missing.
    if (!TryLock(kTriesOfHandler)) return nullptr;
    const auto found = guards_.upper_bound(address);
    FaultGuard* const guard = found != guards_.end() && found->second->data() <= address ? found->second : nullptr;
    Unlock();
    return guard;
  }
  // The handler that was there before.
  void PassOn(int signal, siginfo_t* info, void* context);

 private:
  struct Hold {
    explicit Hold(Registry& held) : registry(held) { registry.TryLock(~uint64_t{0}); }
    ~Hold() { registry.Unlock(); }
    Registry& registry;
  };
  static constexpr uint64_t kTriesOfHandler = 1'000'000;

  bool TryLock(uint64_t tries) {
    while (is_locked_.test_and_set(std::memory_order_acquire)) {
      if (tries-- == 0) return false;
      sched_yield();
    }
    return true;
  }
  void Unlock() { is_locked_.clear(std::memory_order_release); }
  void InstallHandler();

  std::atomic_flag is_locked_ = ATOMIC_FLAG_INIT;
  std::map<const char*, FaultGuard*> guards_;  // by the end of their bytes
  struct sigaction before_ = {};
};

// WHY never destroyed: a database that outlives main may still read.
Registry& TheRegistry() {
  static auto* const registry = new Registry;
  return *registry;
}

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
  before_ = now;
  g_registry.store(this, std::memory_order_release);
  struct sigaction ours = {};
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  ours.sa_sigaction = OnSigbus;
  sigemptyset(&ours.sa_mask);
  (void)sigaction(SIGBUS, &ours, nullptr);  // fails only for a signal that does not exist
}

void Registry::PassOn(int signal, siginfo_t* info, void* context) {
  thread_local bool is_passing = false;
  const bool is_loop = is_passing;  // the handler before this one passes on to this one
  is_passing = true;
  if (!is_loop && (before_.sa_flags & SA_SIGINFO) != 0) {
    before_.sa_sigaction(signal, info, context);
  } else if (!is_loop && before_.sa_handler != SIG_DFL && before_.sa_handler != SIG_IGN) {
    before_.sa_handler(signal);
  } else if (before_.sa_handler != SIG_IGN || info->si_code > 0) {
    // The load is repeated, or the signal raised again, and the kernel kills the process.
    struct sigaction none = {};
    none.sa_handler = SIG_DFL;
    (void)sigaction(SIGBUS, &none, nullptr);
    if (info->si_code <= 0) (void)raise(signal);
  }
  is_passing = false;
}

}  // namespace

FaultGuard::FaultGuard(const char* data, size_t size, std::string path, std::shared_ptr<base::MappedFaults> faults,
                       Use use)
    : data_(data), size_(size), path_(std::move(path)), faults_(std::move(faults)), use_(use) {
  TheRegistry().Add(this);
}

size_t guarded_count() { return TheRegistry().count(); }

FaultGuard::~FaultGuard() { TheRegistry().Remove(this); }

bool FaultGuard::TakeFault(const char* address) {
  if (use_ == Use::kGivesPointers && base::mapped_reads == 0) return false;
  const auto page_bytes = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t page = reinterpret_cast<uintptr_t>(address) / page_bytes * page_bytes;
  has_failed_.store(true, std::memory_order_release);
  faults_->Note(path_, page - reinterpret_cast<uintptr_t>(data_));
  const int rights = use_ == Use::kWrites ? PROT_READ | PROT_WRITE : PROT_READ;
  void* const zeros =
      mmap(reinterpret_cast<void*>(page), page_bytes, rights, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  return zeros != MAP_FAILED;
}

}  // namespace mergedb::env
