// What an interface that counts its callers asks of an object before it waits for them. Not a part of the public interface.
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
