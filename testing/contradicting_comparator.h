// The bytewise order, until a test sets `contradicts`: from then on about one answer in four is random. It stands
// for a comparator in another language that fails during a call.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/random.h"
#include "mergedb/comparator.h"

namespace mergedb::testing {

// THREADS: one thread at a time.
class ContradictingComparator final : public Comparator {
 public:
  explicit ContradictingComparator(uint64_t seed) : random_(seed) {}
  int Compare(std::string_view a, std::string_view b) const override {
    return contradicts && random_.OneIn(4) ? static_cast<int>(random_.Uniform(3)) - 1 : a.compare(b);
  }
  std::string_view Name() const override { return "test.contradicting"; }

  bool contradicts = false;

 private:
  mutable base::Random random_;
};

}  // namespace mergedb::testing
