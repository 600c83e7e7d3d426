// A sort that stays within its range even if the comparison contradicts itself. WHY: a program's comparator
// may do that, and std::sort then reads and writes beyond the range.
#pragma once

#include <algorithm>

namespace mergedb::base {

// O(n log n) comparisons. Equal elements end in any order.
template <class Iterator, class Less>
void HeapSort(Iterator begin, Iterator end, Less less) {
  std::make_heap(begin, end, less);
  std::sort_heap(begin, end, less);
}

}  // namespace mergedb::base
