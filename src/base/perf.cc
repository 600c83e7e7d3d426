#include "base/perf.h"

#include "base/thread_waits.h"

namespace mergedb {

PerfScope::PerfScope(PerfContext* context)
    : before_(base::thread_perf), context_(context), waited_before_(base::thread_waited_nanos) {
  base::thread_perf = context;
}

PerfScope::~PerfScope() {
  base::thread_perf = before_;
  if (context_ != nullptr) context_->wait_nanos += base::thread_waited_nanos - waited_before_;
}

}  // namespace mergedb
