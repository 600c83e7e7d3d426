// An object that other threads use while it is about to close. The interface that owns it calls BeginClose, waits for
// the calls in progress, and closes it. Not a part of the public interface.
#pragma once

namespace mergedb::base {

class Closing {
 public:
  virtual ~Closing() = default;
  // Present and later calls no longer wait for one another, but fail with ShuttingDown. Close follows. THREADS: any,
  // beside any other call.
  virtual void BeginClose() = 0;
};

}  // namespace mergedb::base
