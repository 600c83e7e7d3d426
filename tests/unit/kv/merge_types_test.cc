// Goal: each row of the table of merge types is whole. The functions of include/mergedb/merge.h, the C header and the
// Java class name exactly the rows, with the same ids. Vectors: merge_vectors.h. The command: tests/db/command_test.cc.
#include <gtest/gtest.h>

#include <charconv>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>

#include "base/bytes.h"
#include "kv/merge_operators.h"
#include "tests/unit/kv/merge_vectors.h"

namespace mergedb::kv {
namespace {

using testing::MergeVectors;

// Removes `head` from *text. False: *text does not begin with it.
bool Take(std::string_view head, std::string_view* text) {
  if (!text->starts_with(head)) return false;
  text->remove_prefix(head.size());
  return true;
}

// Takes a decimal number.
template <typename Number>
Number TakeNumber(std::string_view* text) {
  Number number{};
  const char* const end = std::from_chars(text->data(), text->data() + text->size(), number).ptr;
  text->remove_prefix(static_cast<size_t>(end - text->data()));
  return number;
}

// Takes bytes in quotes.
std::string TakeQuoted(std::string_view* text) {
  EXPECT_TRUE(Take("\"", text)) << *text;
  std::string bytes;
  while (!text->empty() && !text->starts_with("\"")) {
    if (Take("\\x", text)) {
      std::string byte;
      EXPECT_TRUE(base::FromHex(text->substr(0, 2), &byte)) << *text;
      bytes += byte;
      text->remove_prefix(2);
    } else {
      bytes += text->front();
      text->remove_prefix(1);
    }
  }
  EXPECT_TRUE(Take("\"", text)) << *text;
  return bytes;
}

// Makes an operand from what Print shows of it, with merge::Make.
std::string Parse(const MergeType& type, std::string_view text) {
  EXPECT_TRUE(Take(std::string(type.name) + " ", &text)) << text;
  merge::Arguments given;
  std::string bytes, delimiter;
  if (Take("at ", &text)) {
    given.u64 = TakeNumber<uint64_t>(&text);
    EXPECT_TRUE(Take(" ", &text));
  }
  switch (type.body.argument) {
    case merge::Argument::kU64: given.u64 = TakeNumber<uint64_t>(&text); break;
    case merge::Argument::kI64: given.i64 = TakeNumber<int64_t>(&text); break;
    case merge::Argument::kF64: given.f64 = TakeNumber<double>(&text); break;
    case merge::Argument::kBytes:
      bytes = text.starts_with("\"") ? TakeQuoted(&text) : std::string(std::exchange(text, {}));
      break;
  }
  if (Take(" delimiter ", &text)) delimiter = TakeQuoted(&text);
  given.append.keep = text.starts_with(" oldest") ? merge::Keep::kOldest : merge::Keep::kNewest;
  if (Take(" newest ", &text) || Take(" oldest ", &text)) given.append.cap_bytes = TakeNumber<uint64_t>(&text);
  EXPECT_EQ(text, "");
  given.bytes = bytes;
  given.append.delimiter = delimiter;
  return merge::Make(type.id, given).value_or("");
}

TEST(MergeTypes, HaveIdsInOrderAndNamesOfTheirOwn) {
  std::set<std::string_view> names, rocksdb_names;
  int id = 0;
  for (const MergeType& type : MergeTypes()) {
    EXPECT_EQ(type.id, ++id);
    EXPECT_LT(type.id, 30) << "ids from 30 on are those of programs, or refused";
    EXPECT_TRUE(names.insert(type.name).second) << type.name;
    EXPECT_TRUE(type.rocksdb_name.empty() || rocksdb_names.insert(type.rocksdb_name).second) << type.rocksdb_name;
    EXPECT_EQ(FindRocksDbType(type.rocksdb_name), type.rocksdb_name.empty() ? nullptr : &type);
    const merge::Type shown = merge::Types().at(static_cast<size_t>(id - 1));
    EXPECT_TRUE(shown.id == type.id && shown.name == type.name && shown.argument == type.body.argument);
  }
  EXPECT_EQ(merge::Types().size(), static_cast<size_t>(id));
  for (const int other : {-1, 0, id + 1, 30, 256 + 1, 1000}) EXPECT_FALSE(merge::Make(other, {}).has_value()) << other;
}

TEST(MergeTypes, HaveVectorsEach) {
  const auto vectors = MergeVectors();
  ASSERT_EQ(vectors.size(), MergeTypes().size());
  for (size_t i = 0; i < vectors.size(); ++i) {
    EXPECT_EQ(vectors[i].type, MergeTypes()[i].name);
    EXPECT_GE(vectors[i].operands.size(), 2u) << vectors[i].type;
  }
}

TEST(MergeTypes, MakeCheckPrintAndParseOperands) {
  const auto vectors = MergeVectors();
  for (size_t i = 0; i < MergeTypes().size(); ++i) {
    const MergeType& type = MergeTypes()[i];
    for (const auto& [operand, hex, text] : vectors.at(i).operands) {
      EXPECT_EQ(base::ToHex(operand), hex) << text;
      EXPECT_EQ(static_cast<uint8_t>(operand[0]), type.id) << text;
      EXPECT_EQ(OperandName(operand), type.name);
      EXPECT_TRUE(CheckNewOperand(operand).ok()) << text;
      EXPECT_EQ(merge::Print(operand), text);
      EXPECT_EQ(Parse(type, text), operand) << text;
    }
  }
}

TEST(MergeTypes, RefuseOperandsOfAWrongLength) {
  for (const auto& [type, operands, refused] : MergeVectors()) {
    for (const std::string_view hex : refused) {
      std::string operand;
      ASSERT_TRUE(base::FromHex(hex, &operand));
      EXPECT_EQ(CheckOperand(operand).code(), Code::kInvalidArgument) << hex;
      EXPECT_TRUE(CheckOperand(operand).message().starts_with(std::string(type) + ": expected ")) << hex;
      Value value;
      const std::string_view view = operand;
      EXPECT_TRUE(ApplyRun({&view, 1}, &value).IsMergeFailed()) << hex;
    }
    const bool is_number = StaysSmall(TypeOf(operands[0].operand));
    EXPECT_EQ(CheckOperand(operands[0].operand.substr(0, 1)).ok(), refused.empty()) << type;
    EXPECT_EQ(CheckOperand(operands[0].operand + "x").ok(), !is_number) << type;
  }
}

std::string Combine(Run run) {
  std::string combined;
  return CombineRun(run, &combined) ? combined : "cannot combine";
}

// The stored value of `operands`, applied one by one to `base`.
std::string Apply(const Base& base, const std::vector<std::string>& operands) {
  Value value;
  Status status = DecodeBase(base, &value);
  for (const std::string_view operand : operands) {
    if (status.ok()) status = ApplyRun({&operand, 1}, &value);
  }
  std::string bytes;
  const Kind kind = EncodeValue(value, &bytes);
  return status.ok() ? std::to_string(static_cast<int>(kind)) + " " + base::ToHex(bytes) : status.ToString();
}

TEST(MergeTypes, CombineAssociativelyWithTheEffectOfBoth) {
  const Base bases[] = {{}, {Kind::kPut, "12345678"}, {Kind::kPut, "{\"b\":1}"}};
  for (const auto& [type, operands, refused] : MergeVectors()) {
    size_t combined = 0;
    for (const auto& [a, a_hex, a_text] : operands) {
      for (const auto& [b, b_hex, b_text] : operands) {
        const std::string_view two[] = {a, b};
        const std::string both = Combine(two);
        if (both == "cannot combine") continue;
        ++combined;
        EXPECT_TRUE(CheckOperand(both).ok()) << a_text << ", " << b_text;
        for (const Base& base : bases) EXPECT_EQ(Apply(base, {both}), Apply(base, {a, b})) << a_text << ", " << b_text;
        for (const auto& [c, c_hex, c_text] : operands) {
          const std::string_view last_two[] = {b, c}, all[] = {a, b, c};
          const std::string others = Combine(last_two);
          if (others == "cannot combine") continue;
          const std::string_view left[] = {both, c}, right[] = {a, others};
          EXPECT_EQ(Combine(left), Combine(right)) << a_text << ", " << b_text << ", " << c_text;
          EXPECT_EQ(Combine(left), Combine(all)) << a_text << ", " << b_text << ", " << c_text;
        }
      }
    }
    EXPECT_GE(combined, operands.size()) << type << ": an operand combines with itself";
  }
}

// ---- the same types elsewhere -------------------------------------------------------------------------------

std::string ReadSource(const std::string& name) {
  std::ifstream file(std::string(MERGEDB_SOURCE_DIR) + "/" + name);
  EXPECT_TRUE(file.is_open()) << name;
  return {std::istreambuf_iterator<char>(file), {}};
}

// What the first group of `pattern` matches in the source, by the id in the second.
std::map<int, std::string> IdsIn(const std::string& source, const std::string& pattern) {
  std::map<int, std::string> found;
  const std::regex regex(pattern);
  for (std::sregex_iterator each(source.begin(), source.end(), regex), end; each != end; ++each) {
    EXPECT_TRUE(found.emplace(std::stoi((*each)[2]), (*each)[1]).second) << (*each)[0];
  }
  return found;
}

TEST(MergeTypes, AreTheConstantsOfTheCHeader) {
  const std::string header = ReadSource("include/mergedb/c.h");
  const size_t begin = header.find("MERGEDB_ADD_U64 ="), end = header.find("MERGEDB_PROGRAM =");
  ASSERT_TRUE(begin != std::string::npos && end > begin);
  const auto constants = IdsIn(header.substr(begin, end - begin), "MERGEDB_(\\w+) += (\\d+)");
  EXPECT_EQ(constants.size(), MergeTypes().size());
  for (const MergeType& type : MergeTypes()) {
    std::string name(type.name);
    for (char& each : name) each = each == '-' ? '_' : static_cast<char>(std::toupper(each));
    ASSERT_TRUE(constants.contains(type.id)) << type.name;
    EXPECT_TRUE(constants.at(type.id).starts_with(name)) << constants.at(type.id);  // MAX_BYTES for max
  }
}

TEST(MergeTypes, AreTheOperandsOfTheJavaClass) {
  const std::string source = ReadSource("java/mergedb-java/src/main/java/dev/mergedb/Merge.java");
  const auto ids = IdsIn(source, "return (of\\w+|new Merge)\\((\\d+),");
  EXPECT_EQ(ids.size(), MergeTypes().size() + 1) << "and named";
  for (const MergeType& type : MergeTypes()) EXPECT_TRUE(ids.contains(type.id)) << type.name;
}

}  // namespace
}  // namespace mergedb::kv
