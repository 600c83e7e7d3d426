// Operations as data: drawn from a seed, printed as one line, read back, and shrunk until little is left of a failure.
//
//     put:12,2000123 batch:0/0,3,7/1,12 flush get:0,12        name:head,head,.../each,each/each,each
//
// An operation is its kind, a head of numbers, and a tail of groups of numbers (a batch's changes, an iterator's moves). What
// a number means, which key, which value, which slot, is for whoever runs it. Two rules make every list valid, so that any
// part of it may be left out: a number that is missing is 0, and whoever runs an operation that makes no sense where it
// stands (the iterator is not open) passes over it.
//
// Adding an operation is one entry in the table of its runner: testing/op_runner.cc.
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

// What kind of list to draw.
struct Profile {
  const char* name = "usual";
  uint64_t keys = 1000;                      // how many different ones
  uint64_t large_value_one_in = 200;         // values of up to 100,000 bytes
  std::vector<std::string> favourites = {};  // kinds that are drawn ten times as often
};

// How one number is drawn.
using DrawNumber = uint64_t (*)(base::Random& random, const Profile& profile);

struct OpKind {
  const char* name = "";
  uint64_t weight = 0;  // how often, beside the others
  std::vector<DrawNumber> head = {};
  std::vector<DrawNumber> each = {};  // one group of the tail
  uint64_t groups_max = 0;            // in the tail; now and then 40 times as many
  // Changes no answer, wherever it is put in.
  bool is_maintenance = false;
};
using OpTable = std::vector<OpKind>;

struct Op {
  using Numbers = std::vector<uint64_t>;
  size_t kind = 0;  // in the table
  Numbers head = {};
  std::vector<Numbers> tail = {};
  friend bool operator==(const Op&, const Op&) = default;
};
using OpList = std::vector<Op>;

Op DrawOp(const OpTable& table, size_t kind, const Profile& profile, base::Random& random);
OpList DrawOps(const OpTable& table, const Profile& profile, base::Random& random, size_t count);
// `list` with about one maintenance operation after every `one_in` of its own.
OpList WithMaintenance(const OpTable& table, const OpList& list, base::Random& random, uint64_t one_in);

std::string PrintOps(const OpTable& table, const OpList& list);
// Nothing if the text is not of the grammar, or names a kind that the table has not.
std::optional<OpList> ParseOps(const OpTable& table, std::string_view text);

// The number `i` of a head or a group; 0 if it has fewer.
inline uint64_t NumberAt(const Op::Numbers& numbers, size_t i) { return i < numbers.size() ? numbers[i] : 0; }

// A part of `list`, and smaller numbers in it, for which `fails` still holds; leaves nothing that one more step could take
// away, or stops when `fails` was asked `trials_max` times. REQUIRES: fails(list).
OpList Shrink(OpList list, const std::function<bool(const OpList&)>& fails, size_t trials_max = 3000);

}  // namespace mergedb::testing
