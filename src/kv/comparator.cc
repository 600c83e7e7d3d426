#include "mergedb/comparator.h"

#include "base/bytes.h"

namespace mergedb {
namespace {

class Bytewise final : public Comparator {
 public:
  int Compare(std::string_view a, std::string_view b) const override { return base::CompareBytes(a, b); }
  std::string_view Name() const override { return "mergedb.bytewise"; }
};

}  // namespace

Comparator::~Comparator() = default;

const Comparator* BytewiseComparator() {
  static const Bytewise* const bytewise = new Bytewise;  // never destroyed: programs may use it until they end
  return bytewise;
}

}  // namespace mergedb
