// The order of the keys in the tests of this folder.
#pragma once

#include "kv/order.h"
#include "mergedb/comparator.h"

namespace mergedb::version {

inline const kv::Order kOrder(BytewiseComparator());

}  // namespace mergedb::version
