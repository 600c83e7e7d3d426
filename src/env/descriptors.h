// File descriptors: their limit, and the reaction when the process has none left.
//
//     files that are only read: LentDescriptor ──► list ◄── TakeBack ──┐
//     caches of open files:     IdleFiles ──► list ◄── CloseIdleFiles ─┴─ an open that met EMFILE or ENFILE; it retries
//
// A LentDescriptor is closed while no call uses it, and opened again by its next use: the file stays open for its
// owner. If all of them are in use, the caches close files that have no owner. All databases of the process together
// keep at most three quarters of its limit in LentDescriptors.
//
// WHY one list for the process: the limit is per process. A flush of one database finds a descriptor even if
// the tables of another database hold them all. If a program's own file system runs out of descriptors, it
// returns Busy; the call is not repeated.
// WHY no descriptor below 3: in a process without standard streams, a message that some code prints to descriptor 1 or
// 2 would go into the file.
// THREADS: any thread calls any function, under any lock except those that a `close` function takes.
#pragma once

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <functional>
#include <memory>

#include "env/posix_status.h"

namespace mergedb::env {

// The current RLIMIT_NOFILE.
uint64_t DescriptorsMax();

// Registers a cache of open files. `close` closes the files that are not in use; it takes only locks of its
// own, and opens no file.
class IdleFiles {
 public:
  explicit IdleFiles(std::function<void()> close);
  ~IdleFiles();  // after it, `close` does not run
  IdleFiles(const IdleFiles&) = delete;
  IdleFiles& operator=(const IdleFiles&) = delete;

  struct Offer;

 private:
  const std::shared_ptr<Offer> offer_;
};

// Closes the idle files of all databases of the process.
void CloseIdleFiles();

// A descriptor that can be taken back from its file while no call uses it.
// THREADS: Use: any; the other methods: the owner, while no Use exists.
class LentDescriptor {
 public:
  // Takes `fd`. `reopen` returns a descriptor of the same file, or -1 and errno.
  LentDescriptor(int fd, std::function<int()> reopen);
  ~LentDescriptor() { Close(); }
  LentDescriptor(const LentDescriptor&) = delete;
  LentDescriptor& operator=(const LentDescriptor&) = delete;
  void Close();

  // Holds the descriptor for the time of a call. MEASURED: 10 ns.
  class Use {
   public:
    explicit Use(LentDescriptor& lent) : lent_(lent), fd_(lent.Take()), error_(fd_ < 0 ? errno : 0) {}
    ~Use() {
      if (fd_ >= 0) lent_.state_.fetch_sub(1);
    }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    int fd() const { return fd_; }  // -1: `error` is the errno
    int error() const { return error_; }

   private:
    LentDescriptor& lent_;
    const int fd_;
    const int error_;
  };

 private:
  friend class LentDescriptors;
  static constexpr uint64_t kIsOpen = uint64_t{1} << 63;

  int Take() {
    uint64_t state = state_.load();
    while ((state & kIsOpen) != 0) {
      if (!state_.compare_exchange_weak(state, state + 1)) continue;
      // WHY a load first: most uses find the mark set, and need not write the cache line.
      if (!was_used_.load(std::memory_order_relaxed)) was_used_.store(true, std::memory_order_relaxed);
      return fd_;
    }
    return Reopen();
  }
  int Reopen();

  const std::function<int()> reopen_;
  std::atomic<uint64_t> state_{0};     // kIsOpen, and the number of uses
  std::atomic<bool> was_used_{false};  // since the last look of TakeBack
  int fd_ = -1;                        // changes under the mutex of the list, while state_ is 0
  LentDescriptor* next_ = nullptr;     // in the ring of all LentDescriptors, under the same mutex
  LentDescriptor* previous_ = nullptr;
};

// Closes up to `count` descriptors of files that no call uses now, the ones first that were not used lately. Returns
// how many.
size_t TakeBack(size_t count);

inline bool IsOutOfDescriptors(int error) { return error == EMFILE || error == ENFILE; }

// Where descriptor 0, 1 or 2 is closed, opens something that can neither be read nor written: as before, a read or a
// write is EBADF, and after an exec the descriptor is closed. For ever. WHY: a file that has such a descriptor, if only
// until it gets another one, takes what the program prints.
void OccupyStandardStreams();

// Returns `fd`, or if it is a descriptor of a standard stream (below 3: the program closed one since
// OccupyStandardStreams) a copy above them, and closes `fd`. -1 and errno if there is none left, and if `fd` is -1. The
// copy is closed by an exec.
int AboveStandardStreams(int fd);

// `call` returns a descriptor, or -1 and errno. So does this function; the descriptor is above the standard streams.
template <typename Call>
int OpenMakingRoom(Call&& call) {
  // WHY several: other threads take what was closed, too. WHY a few descriptors at a time: each costs an open later.
  constexpr int kTries = 16;
  constexpr size_t kTakenBack = 4;
  OccupyStandardStreams();
  int fd = RetryOnSignal(call);
  for (int i = 0; i < kTries && fd < 0 && IsOutOfDescriptors(errno) && TakeBack(kTakenBack) > 0; ++i) {
    fd = RetryOnSignal(call);
  }
  if (fd >= 0 || !IsOutOfDescriptors(errno)) return AboveStandardStreams(fd);
  CloseIdleFiles();
  return AboveStandardStreams(RetryOnSignal(call));
}

}  // namespace mergedb::env
