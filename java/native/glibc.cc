// What the library would ask of a new glibc, in terms of an old one: Debian 11 has 2.31, RHEL 8 has 2.28.
//
// The linker binds a function to its newest version on the machine that builds: pthread_create to GLIBC_2.34, for
// example, which no older machine has. The definitions here come first, so that libmergedb.a and libstdc++.a are
// bound to them, and call the version that every glibc has. They are hidden in the library. WHY not a sysroot of an
// old glibc: Debian 12 has none.
//
// scripts/glibc_versions.py fails the build if a newer version slips in.
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>

#include <cerrno>
#include <cstdint>

#if defined(__x86_64__)
#define MERGEDB_OLDEST "GLIBC_2.2.5"
#define MERGEDB_OLDEST_FXSTATAT "GLIBC_2.4"
#elif defined(__aarch64__)
#define MERGEDB_OLDEST "GLIBC_2.17"
#define MERGEDB_OLDEST_FXSTATAT MERGEDB_OLDEST
#else
#error "the oldest version of glibc's symbols for this machine is not known"
#endif

// `name` of a version, under another name.
#define MERGEDB_OF_VERSION(name, version) __asm__(".symver mergedb_old_" #name "," #name "@" version)
#define MERGEDB_OLD(name) MERGEDB_OF_VERSION(name, MERGEDB_OLDEST)

extern "C" {

int mergedb_old_pthread_create(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
MERGEDB_OLD(pthread_create);
int mergedb_old_pthread_join(pthread_t, void**);
MERGEDB_OLD(pthread_join);
int mergedb_old_pthread_detach(pthread_t);
MERGEDB_OLD(pthread_detach);
int mergedb_old_pthread_once(pthread_once_t*, void (*)());
MERGEDB_OLD(pthread_once);
int mergedb_old_pthread_mutex_trylock(pthread_mutex_t*);
MERGEDB_OLD(pthread_mutex_trylock);
int mergedb_old_pthread_sigmask(int, const sigset_t*, sigset_t*);
MERGEDB_OLD(pthread_sigmask);
int mergedb_old_pthread_key_create(pthread_key_t*, void (*)(void*));
MERGEDB_OLD(pthread_key_create);
void* mergedb_old_dlsym(void*, const char*);
MERGEDB_OLD(dlsym);
int mergedb_old___fxstat(int, int, struct stat*);
MERGEDB_OLD(__fxstat);
int mergedb_old___xstat(int, const char*, struct stat*);
MERGEDB_OLD(__xstat);
int mergedb_old___lxstat(int, const char*, struct stat*);
MERGEDB_OLD(__lxstat);
int mergedb_old___fxstatat(int, int, const char*, struct stat*, int);
MERGEDB_OF_VERSION(__fxstatat, MERGEDB_OLDEST_FXSTATAT);

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*), void* argument) noexcept {
  return mergedb_old_pthread_create(thread, attributes, run, argument);
}

int pthread_join(pthread_t thread, void** result) { return mergedb_old_pthread_join(thread, result); }

int pthread_detach(pthread_t thread) noexcept { return mergedb_old_pthread_detach(thread); }

int pthread_once(pthread_once_t* control, void (*run)()) { return mergedb_old_pthread_once(control, run); }

int pthread_mutex_trylock(pthread_mutex_t* mutex) noexcept { return mergedb_old_pthread_mutex_trylock(mutex); }

int pthread_sigmask(int how, const sigset_t* set, sigset_t* old) noexcept {
  return mergedb_old_pthread_sigmask(how, set, old);
}

int __pthread_key_create(pthread_key_t* key, void (*destroy)(void*)) noexcept {
  return mergedb_old_pthread_key_create(key, destroy);
}

// The version of `struct stat` that 64-bit Linux has had from the start.
#if defined(__x86_64__)
constexpr int kStatVersion = 1;
#else
constexpr int kStatVersion = 0;
#endif

int fstat(int file, struct stat* found) noexcept { return mergedb_old___fxstat(kStatVersion, file, found); }
int stat(const char* path, struct stat* found) noexcept { return mergedb_old___xstat(kStatVersion, path, found); }
int lstat(const char* path, struct stat* found) noexcept { return mergedb_old___lxstat(kStatVersion, path, found); }
int fstatat(int directory, const char* path, struct stat* found, int flags) noexcept {
  return mergedb_old___fxstatat(kStatVersion, directory, path, found, flags);
}

// "Are there other threads?" A JVM has them always.
char __libc_single_threaded = 0;

namespace {

using ClockWait = int (*)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*);

constexpr int64_t kNanosPerSecond = 1'000'000'000;

int64_t Nanos(const timespec& time) { return int64_t{time.tv_sec} * kNanosPerSecond + time.tv_nsec; }

int64_t Now(clockid_t clock) {
  timespec now = {};
  clock_gettime(clock, &now);
  return Nanos(now);
}

// For a glibc before 2.30. A wait on another clock than the condition's is cut into waits of a second, so that a wall
// clock that is set back cannot prolong it by more: a wait that ends early is a spurious wake-up, which every caller
// must expect.
int OldClockWait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock, const timespec* until) {
  const int64_t left = Nanos(*until) - Now(clock);
  if (left <= 0) return ETIMEDOUT;
  const int64_t wait = left < kNanosPerSecond ? left : kNanosPerSecond;
  const int64_t end = Now(CLOCK_REALTIME) + wait;
  const timespec wall = {static_cast<time_t>(end / kNanosPerSecond), static_cast<long>(end % kNanosPerSecond)};
  const int outcome = pthread_cond_timedwait(condition, mutex, &wall);
  return outcome == ETIMEDOUT && wait < left ? 0 : outcome;
}

}  // namespace

int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock, const timespec* until) {
  static const auto found = reinterpret_cast<ClockWait>(mergedb_old_dlsym(RTLD_DEFAULT, "pthread_cond_clockwait"));
  return found != nullptr ? found(condition, mutex, clock, until) : OldClockWait(condition, mutex, clock, until);
}

// The unwinder of libgcc asks for the object that holds an address, when an exception is thrown.
namespace {

struct Wanted {
  uintptr_t address;
  dl_find_object* result;
};

int FindObject(dl_phdr_info* object, size_t, void* state) {
  const auto* wanted = static_cast<const Wanted*>(state);
  uintptr_t begin = UINTPTR_MAX, end = 0, eh_frame = 0;
  bool holds = false;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = object->dlpi_phdr[i];
    const uintptr_t from = object->dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_GNU_EH_FRAME) eh_frame = from;
    if (part.p_type != PT_LOAD) continue;
    begin = from < begin ? from : begin;
    end = from + part.p_memsz > end ? from + part.p_memsz : end;
    holds = holds || (wanted->address >= from && wanted->address - from < part.p_memsz);
  }
  if (!holds || eh_frame == 0) return 0;
  *wanted->result = {};
  wanted->result->dlfo_map_start = reinterpret_cast<void*>(begin);
  wanted->result->dlfo_map_end = reinterpret_cast<void*>(end);
  wanted->result->dlfo_eh_frame = reinterpret_cast<void*>(eh_frame);
  return 1;
}

}  // namespace

int _dl_find_object(void* address, dl_find_object* result) noexcept {
  Wanted wanted = {reinterpret_cast<uintptr_t>(address), result};
  return dl_iterate_phdr(FindObject, &wanted) == 1 ? 0 : -1;
}

}  // extern "C"
