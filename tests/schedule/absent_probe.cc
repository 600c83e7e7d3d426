// Compiled as a release build compiles base/sync.h; tests/schedule/absent_test.py searches it for code that
// must be absent.
#ifdef MERGEDB_DCHECK
#error "the probe stands for a release build"
#endif

#include "base/schedule_point.h"
#include "base/sync.h"

namespace mergedb::testing {

struct AbsentProbe {
  base::Mutex mutex;
  base::CondVar changed;
  bool is_changed = false;
};

bool UseAll(AbsentProbe& probe) {
  SCHEDULE_POINT("point of the absent probe");
  base::Lock lock(probe.mutex);
  while (!probe.is_changed) probe.changed.Wait(lock);
  (void)probe.changed.WaitFor(lock, 1000);
  probe.changed.NotifyOne();
  lock.Unlock();
  probe.changed.NotifyAll();
  lock.Relock();
  return probe.is_changed;
}

}  // namespace mergedb::testing
