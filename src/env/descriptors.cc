#include "env/descriptors.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <limits>
#include <utility>
#include <vector>

#include "base/sync.h"

namespace mergedb::env {

struct IdleFiles::Offer {
  base::Mutex mutex;  // held while `close` runs
  std::function<void()> close GUARDED_BY(mutex);
};

namespace {

using OfferPtr = std::shared_ptr<IdleFiles::Offer>;

// WHY the list is empty in the child of a fork: a mutex that another thread of the parent held stays locked
// in the child.
class Offers {
 public:
  static Offers& Get() {
    static Offers* const offers = [] {
      static auto* made = new Offers;  // never destroyed: a database may outlive main
      pthread_atfork([] { made->mutex_.lock(); }, [] { made->mutex_.unlock(); },
                     [] {
                       made->offers_.clear();
                       made->mutex_.unlock();
                     });
      return made;
    }();
    return *offers;
  }

  void Add(const OfferPtr& offer) {
    base::Lock lock(mutex_);
    offers_.push_back(offer);
  }
  void Drop(const OfferPtr& offer) {
    base::Lock lock(mutex_);
    std::erase(offers_, offer);
  }
  std::vector<OfferPtr> List() const {
    base::Lock lock(mutex_);
    return offers_;
  }

 private:
  mutable base::Mutex mutex_;
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
  for (const OfferPtr& offer : Offers::Get().List()) {
    base::Lock lock(offer->mutex);
    if (offer->close) offer->close();
  }
}

int AboveStandardStreams(int fd) {
  if (fd < 0 || fd > STDERR_FILENO) return fd;
  const auto copy = [fd] { return fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1); };
  int above = copy();
  if (above < 0 && IsOutOfDescriptors(errno)) {
    CloseIdleFiles();
    above = copy();
  }
  const int error = errno;
  close(fd);
  errno = error;
  return above;
}

uint64_t DescriptorsMax() {
  rlimit limit{};
  const bool is_known = getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  return is_known ? limit.rlim_cur : std::numeric_limits<uint64_t>::max();
}

}  // namespace mergedb::env
