// An object that a process has once, whose mutex stays usable in the child of a fork.
//
// A thread of the parent may hold the mutex when another thread forks. It does not exist in the child and could not
// unlock the mutex there. So the fork takes the mutex before and releases it afterwards, in both processes.
#pragma once

#include <pthread.h>

#include "base/sync.h"

namespace mergedb::base {

// T has a member `Mutex mutex_`, a method `void ForgetParentLocked()`, which the child of a fork calls under the mutex,
// and this class as a friend. The object is never destroyed: other threads, or destructors of statics, may use it.
// THREADS: any.
template <typename T>
class ForkSafe {
 public:
  static T& Get() {
    static T& object = Make();
    return object;
  }

 private:
  // WHY without the analysis: one function locks the mutex and another one unlocks it.
  static T& Make() NO_LOCK_ANALYSIS {
    static T* const made = new T;
    pthread_atfork([]() NO_LOCK_ANALYSIS { made->mutex_.lock(); }, []() NO_LOCK_ANALYSIS { made->mutex_.unlock(); },
                   []() NO_LOCK_ANALYSIS {
                     made->ForgetParentLocked();
                     made->mutex_.unlock();
                   });
    return *made;
  }
};

}  // namespace mergedb::base
