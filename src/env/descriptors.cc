#include "env/descriptors.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <limits>
#include <utility>
#include <vector>

#include "base/fork_safe.h"
#include "base/sync.h"

namespace mergedb::env {

struct IdleFiles::Offer {
  base::Mutex mutex;  // held while `close` runs
  std::function<void()> close GUARDED_BY(mutex);
};

namespace {

using OfferPtr = std::shared_ptr<IdleFiles::Offer>;

// WHY the list is empty in the child of a fork: the mutex of an offer that another thread of the parent held stays
// locked in the child.
class Offers {
 public:
  static Offers& Get() { return base::ForkSafe<Offers>::Get(); }

  void Add(const OfferPtr& offer) {
    base::Lock lock(mutex_);
    offers_.push_back(offer);
  }
  void Drop(const OfferPtr& offer) {
    base::Lock lock(mutex_);
    std::erase(offers_, offer);
  }
  std::vector<OfferPtr> ListNewestFirst() {
    base::Lock lock(mutex_);
    return {offers_.rbegin(), offers_.rend()};
  }

 private:
  friend class base::ForkSafe<Offers>;
  void ForgetParentLocked() REQUIRES_LOCK(mutex_) { offers_.clear(); }

  base::Mutex mutex_;
  std::vector<OfferPtr> offers_ GUARDED_BY(mutex_);
};

}  // namespace

IdleFiles::IdleFiles(std::function<void()> close) : offer_(std::make_shared<Offer>()) {
  offer_->close = std::move(close);
  Offers::Get().Add(offer_);
}

IdleFiles::~IdleFiles() {
  Offers::Get().Drop(offer_);
  base::Lock lock(offer_->mutex);
  offer_->close = nullptr;
}

void CloseIdleFiles() {
  // WHY the newest first: it may use files of an older one.
  for (const OfferPtr& offer : Offers::Get().ListNewestFirst()) {
    base::Lock lock(offer->mutex);
    if (offer->close) offer->close();
  }
}

void OccupyStandardStreams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) != -1) continue;
    const int lowest = open("/", O_PATH | O_CLOEXEC);
    if (lowest > STDERR_FILENO) close(lowest);  // another thread was faster
  }
}

int AboveStandardStreams(int fd) {
  if (fd < 0 || fd > STDERR_FILENO) return fd;
  const auto copy = [fd] { return fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1); };
  int above = copy();
  while (above < 0 && IsOutOfDescriptors(errno) && TakeBack(1) > 0) above = copy();
  if (above < 0 && IsOutOfDescriptors(errno)) {
    CloseIdleFiles();
    above = copy();
  }
  const int error = errno;
  close(fd);
  errno = error;
  return above;
}

// The ring of all LentDescriptors that are open, and the hand of a clock that looks for unused ones.
// WHY no lock while a file is opened: the open may need TakeBack itself.
class LentDescriptors {
 public:
  static LentDescriptors& Get() { return base::ForkSafe<LentDescriptors>::Get(); }

  // Makes `lent` open, with `uses`. False: it is open already.
  bool Add(LentDescriptor* lent, int fd, uint64_t uses) {
    base::Lock lock(mutex_);
    if ((lent->state_.load() & LentDescriptor::kIsOpen) != 0) return false;
    lent->fd_ = fd;
    lent->was_used_.store(true, std::memory_order_relaxed);
    lent->state_.store(LentDescriptor::kIsOpen | uses);
    if (hand_ == nullptr) hand_ = lent->next_ = lent->previous_ = lent;
    if (hand_ != lent) {
      lent->next_ = hand_;
      lent->previous_ = hand_->previous_;
      lent->next_->previous_ = lent->previous_->next_ = lent;
    }
    ++count_;
    return true;
  }

  // Closes the descriptor if it is open and no call uses it.
  bool Close(LentDescriptor* lent) {
    base::Lock lock(mutex_);
    return CloseLocked(lent);
  }

  size_t TakeBack(size_t count) {
    base::Lock lock(mutex_);
    size_t closed = 0;
    // Two rounds: the first one takes the marks away.
    for (size_t left = 2 * count_; left > 0 && closed < count && hand_ != nullptr; --left) {
      LentDescriptor* const lent = hand_;
      hand_ = lent->next_;
      if (lent->was_used_.exchange(false, std::memory_order_relaxed)) continue;
      closed += CloseLocked(lent);
    }
    return closed;
  }

  size_t count() const {
    base::Lock lock(mutex_);
    return count_;
  }

 private:
  friend class base::ForkSafe<LentDescriptors>;
  void ForgetParentLocked() REQUIRES_LOCK(mutex_) {}

  bool CloseLocked(LentDescriptor* lent) REQUIRES_LOCK(mutex_) {
    uint64_t unused = LentDescriptor::kIsOpen;
    if (!lent->state_.compare_exchange_strong(unused, 0)) return false;
    close(std::exchange(lent->fd_, -1));
    if (hand_ == lent) hand_ = lent->next_ == lent ? nullptr : lent->next_;
    lent->previous_->next_ = lent->next_;
    lent->next_->previous_ = lent->previous_;
    --count_;
    return true;
  }

  mutable base::Mutex mutex_;
  LentDescriptor* hand_ GUARDED_BY(mutex_) = nullptr;
  size_t count_ GUARDED_BY(mutex_) = 0;
};

namespace {

// Keeps the rest of the process's descriptors free.
void KeepWithinBudget() {
  const uint64_t limit = DescriptorsMax();
  const uint64_t budget = limit - limit / 4;
  const size_t count = LentDescriptors::Get().count();
  if (count > budget) TakeBack(static_cast<size_t>(count - budget));
}

}  // namespace

LentDescriptor::LentDescriptor(int fd, std::function<int()> reopen) : reopen_(std::move(reopen)) {
  LentDescriptors::Get().Add(this, fd, 0);
  KeepWithinBudget();
}

void LentDescriptor::Close() { LentDescriptors::Get().Close(this); }

int LentDescriptor::Reopen() {
  for (;;) {
    const int fd = reopen_();
    if (fd < 0) return -1;
    if (LentDescriptors::Get().Add(this, fd, 1)) {
      KeepWithinBudget();
      return fd;
    }
    close(fd);  // another thread has opened it
    uint64_t state = state_.load();
    while ((state & kIsOpen) != 0) {
      if (state_.compare_exchange_weak(state, state + 1)) return fd_;
    }
  }
}

size_t TakeBack(size_t count) { return LentDescriptors::Get().TakeBack(count); }

uint64_t DescriptorsMax() {
  rlimit limit{};
  const bool is_known = getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  return is_known ? limit.rlim_cur : std::numeric_limits<uint64_t>::max();
}

}  // namespace mergedb::env
