// What a reader sees: of each key the newest version with a sequence up to `sequence`, unless that is a DELETE.
//
// Both directions. Keys at or after `upper` and before `lower` are not shown, nor looked at.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "kv/iterator.h"
#include "kv/order.h"
#include "stream/wade.h"

namespace mergedb::stream {

struct VisibleOptions {
  kv::Sequence sequence = kv::kSequenceMax;
  std::optional<std::string> lower = {};
  std::optional<std::string> upper = {};
  std::function<void(Wade)> on_wade = {};  // a move passed over very much; may be empty
};

// The result's Seek ignores its tag argument: it shows at most one version of a key.
std::unique_ptr<kv::Iterator> NewVisibleIterator(const kv::Order& order, VisibleOptions options,
                                                 std::unique_ptr<kv::Iterator> input);

}  // namespace mergedb::stream
