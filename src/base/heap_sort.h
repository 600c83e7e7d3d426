// A sort that stays within its range whatever the comparison says. WHY: a program's comparator may contradict itself, and std::sort then
// reads and writes beyond the ends.
#pragma once

#include <algorithm>

namespace mergedb::base {

// O(n log n) comparisons; equal elements in any order.
template <class Iterator, class Less>
void HeapSort(Iterator begin, Iterator end, Less less) {
  std::make_heap(begin, end, less);
  std::sort_heap(begin, end, less);
}

}  // namespace mergedb::base
