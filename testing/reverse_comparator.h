// The bytewise order, reversed: for tests of code that must not depend on the bytewise order.
#pragma once

#include <string_view>

#include "mergedb/comparator.h"

namespace mergedb::testing {

class ReverseComparator final : public Comparator {
 public:
  int Compare(std::string_view a, std::string_view b) const override { return b.compare(a); }
  std::string_view Name() const override { return "test.reverse"; }
};

}  // namespace mergedb::testing
