// Operations as data: a list is drawn from a seed, printed as one line, parsed, and shrunk to a small failing list.
//
//     put:12,2000123 batch:0/0,3,7/1,12 flush get:0,12        name:head,head,.../each,each/each,each
//
// An operation has a kind, a head of numbers, and a tail of groups of numbers (the changes of a batch, the moves of an
// iterator). The runner gives a number its meaning: a key, a value, a slot. Two rules make every list valid, so that
// any part of it may be left out. A missing number is 0. The runner skips an operation that is impossible at its
// place, for example a move of an iterator that is not open.
//
// To add an operation, add one entry to the table of its runner: testing/op_runner.cc.
// Tests: tests/unit/testing/random_ops_test.cc.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"

namespace mergedb::testing {

struct Profile {
  const char* name = "usual";
  uint64_t keys = 1000;                      // number of different keys
  uint64_t large_value_one_in = 200;         // one value in so many has up to 100,000 bytes
  std::vector<std::string> favourites = {};  // names of kinds that are drawn ten times as often
};

using DrawNumber = uint64_t (*)(base::Random& random, const Profile& profile);

struct OpKind {
  const char* name = "";
  uint64_t weight = 0;  // the frequency of this kind is its weight divided by the sum of all weights
  std::vector<DrawNumber> head = {};
  std::vector<DrawNumber> each = {};  // the numbers of each group of the tail
  // the tail has fewer groups than this; one tail in 40 may have 40 times as many
  uint64_t groups_max = 0;
  // The operation changes no answer at any place in a list.
  bool is_maintenance = false;
};
using OpTable = std::vector<OpKind>;

struct Op {
  using Numbers = std::vector<uint64_t>;
  size_t kind = 0;  // index in the table
  Numbers head = {};
  std::vector<Numbers> tail = {};
  friend bool operator==(const Op&, const Op&) = default;
};
using OpList = std::vector<Op>;

Op DrawOp(const OpTable& table, size_t kind, const Profile& profile, base::Random& random);
OpList DrawOps(const OpTable& table, const Profile& profile, base::Random& random, size_t count);
// `list` with one maintenance operation after about one in `one_in` operations.
OpList WithMaintenance(const OpTable& table, const OpList& list, base::Random& random, uint64_t one_in);

std::string PrintOps(const OpTable& table, const OpList& list);
// Returns nullopt if the text does not match the grammar or names a kind that is not in the table.
std::optional<OpList> ParseOps(const OpTable& table, std::string_view text);

// Number `i` of a head or a group; 0 if it is missing.
inline uint64_t NumberAt(const Op::Numbers& numbers, size_t i) { return i < numbers.size() ? numbers[i] : 0; }

// Returns a part of `list`, with smaller numbers, for which `fails` still holds. Stops when no single step makes the
// list smaller, or after `trials_max` calls of `fails`. REQUIRES: fails(list).
OpList Shrink(OpList list, const std::function<bool(const OpList&)>& fails, size_t trials_max = 3000);

}  // namespace mergedb::testing
