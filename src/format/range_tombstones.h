// The range tombstones of a table as its file stores them (docs/formats/table.md): fragments in key order.
//
// FORMAT: range tombstones := count varint32 | fragment * count
//         fragment := begin string | end string | sequences varint32 | newest sequence varint64 | older by varint64 *
//         string := length varint32 | bytes
//
// Fragments are in key order and do not overlap. Their sequences descend, so `older by` is never 0.
//
// Tests: tests/unit/format/range_tombstones_test.cc.
#pragma once

#include <string>
#include <string_view>

#include "format/version_edit.h"
#include "kv/order.h"
#include "kv/range_tombstones.h"
#include "mergedb/status.h"

namespace mergedb::format {

std::string EncodeRangeTombstones(const kv::RangeTombstones& tombstones);
// Corruption names offset, expected and found. *tombstones keeps a copy of the bytes.
[[nodiscard]] Status DecodeRangeTombstones(std::string_view bytes, const kv::Order& order,
                                           kv::RangeTombstones* tombstones);

struct TableSpan {
  std::string_view first_key = {};
  std::string_view last_key = {};
  std::string_view ranges_begin = {};
  std::string_view ranges_end = {};
};
// Sets the table's smallest and largest key from `span`. REQUIRES: `entries` and `range_tombstones` of *meta are set.
void SetLimits(const kv::Order& order, const TableSpan& span, FileMeta* meta);

}  // namespace mergedb::format
