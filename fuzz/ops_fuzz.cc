// The input is a list of operations. They run on the database and on the model (testing/op_runner.h), and all
// answers must agree.
#include <cstdio>

#include "fuzz/target.h"
#include "testing/op_runner.h"

namespace mergedb::fuzz {

namespace {

constexpr size_t kOpsMax = 300;
constexpr size_t kGroupsMax = 20;
constexpr uint64_t kNumberBound = 4096;  // larger values cost time and find nothing more

// u8: the option set; then for each operation u8 kind, u8 number of groups, and u16 for each number.
testing::OpList Decode(Input* input) {
  const testing::OpTable& table = testing::ModelOpTable();
  testing::OpList list;
  while (!input->empty() && list.size() < kOpsMax) {
    testing::Op op{.kind = input->TakeByte() % table.size()};
    const testing::OpKind& kind = table[op.kind];
    const size_t groups = kind.groups_max == 0 ? 0 : input->TakeByte() % kGroupsMax;
    for (size_t i = 0; i < kind.head.size(); ++i) op.head.push_back(input->TakeNumber(2) % kNumberBound);
    for (size_t group = 0; group < groups; ++group) {
      auto& numbers = op.tail.emplace_back();
      for (size_t i = 0; i < kind.each.size(); ++i) numbers.push_back(input->TakeNumber(2) % kNumberBound);
    }
    list.push_back(std::move(op));
  }
  return list;
}

std::string Encode(uint8_t set, const testing::OpList& list) {
  const testing::OpTable& table = testing::ModelOpTable();
  std::string out(1, static_cast<char>(set));
  const auto put = [&](uint64_t number) { out += {static_cast<char>(number), static_cast<char>(number >> 8)}; };
  for (const testing::Op& op : list) {
    out += static_cast<char>(op.kind);
    const size_t groups = std::min(op.tail.size(), kGroupsMax - 1);
    if (table[op.kind].groups_max != 0) out += static_cast<char>(groups);
    for (const uint64_t number : op.head) put(number);
    for (size_t i = 0; i < groups; ++i) {
      for (const uint64_t number : op.tail[i]) put(number);
    }
  }
  return out;
}

}  // namespace

std::vector<std::string> Seeds() {
  std::vector<std::string> seeds;
  for (uint8_t i = 0; i < 6; ++i) {
    base::Random random(i);
    seeds.push_back(
        Encode(static_cast<uint8_t>(5 * i), testing::DrawOps(testing::ModelOpTable(), {.keys = 100}, random, 100)));
  }
  return seeds;
}

}  // namespace mergedb::fuzz

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  using namespace mergedb;
  fuzz::Input input(data, bytes);
  const auto& sets = testing::SimulatedOptionSets();
  const testing::OptionSet& set = sets[input.TakeByte() % sets.size()];
  const testing::OpList list = fuzz::Decode(&input);
  const std::string problem = testing::RunOps(list, set, {.seed = 7}).problem;
  if (!problem.empty()) {
    std::fprintf(stderr, "%s\nMERGEDB_REPLAY='%s %s'\n", problem.c_str(), set.name.c_str(),
                 testing::PrintOps(testing::ModelOpTable(), list).c_str());
  }
  FUZZ_CHECK(problem.empty());
  return 0;
}
