// The mutex of a database's background work. It guards what background work decides: which task is next, what runs,
// what callers wait for. So a decision is made and marked in one critical section.
//
// Several classes have members under this mutex; one, BackgroundScheduler, has the mutex. clang's analysis cannot know
// that references in different objects name one mutex. So all of them name one capability: GUARDED_BY(background_mutex)
// and REQUIRES_LOCK(background_mutex), which BackgroundLock takes. INVARIANT: no thread holds the background mutexes of
// two databases, so the name is never ambiguous.
#pragma once

#include "base/sync.h"

namespace mergedb::db {

struct MERGEDB_ANNOTATION(capability("mutex")) BackgroundCapability {};
inline constexpr BackgroundCapability background_mutex;

class BackgroundMutex : public base::Mutex {};

class MERGEDB_ANNOTATION(scoped_lockable) BackgroundLock : public base::Lock {
 public:
  // WHY always_inline: as for base::Lock, a test's scheduler knows a call by its return address.
  [[gnu::always_inline]] explicit BackgroundLock(BackgroundMutex& mutex)
      MERGEDB_ANNOTATION(acquire_capability(background_mutex))
      : base::Lock(mutex) {}
  [[gnu::always_inline]] ~BackgroundLock() MERGEDB_ANNOTATION(release_capability()) {}
};

}  // namespace mergedb::db
