#include "bench/engines/rocksdb_operators.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>

namespace mergedb::bench {
namespace {

using Join = void (*)(std::string* value, std::string_view operand);

void Append(std::string* value, std::string_view operand) { value->append(",").append(operand); }
void TakeLarger(std::string* value, std::string_view operand) {
  if (operand > std::string_view(*value)) value->assign(operand);
}
void Replace(std::string* value, std::string_view operand) { value->assign(operand); }
void Xor(std::string* value, std::string_view operand) {
  value->resize(std::max(value->size(), operand.size()));
  for (size_t i = 0; i < operand.size(); ++i) (*value)[i] = static_cast<char>((*value)[i] ^ operand[i]);
}

struct Operator {
  const char* name;
  Join join;
};
const Operator kOperators[] = {{"stringappend", Append}, {"max", TakeLarger}, {"put", Replace}, {"bytesxor", Xor}};

char* Fold(void* state, std::optional<std::string> value, const char* const* operands, const size_t* sizes, int count,
           unsigned char* success, size_t* bytes) {
  const Join join = static_cast<const Operator*>(state)->join;
  for (int i = 0; i < count; ++i) {
    const std::string_view operand(operands[i], sizes[i]);
    if (value) {
      join(&*value, operand);
    } else {
      value.emplace(operand);
    }
  }
  *success = 1;
  *bytes = value->size();
  char* const copy = static_cast<char*>(std::malloc(std::max<size_t>(value->size(), 1)));
  std::memcpy(copy, value->data(), value->size());
  return copy;
}

char* FullMerge(void* state, const char*, size_t, const char* existing, size_t existing_bytes,
                const char* const* operands, const size_t* sizes, int count, unsigned char* success, size_t* bytes) {
  std::optional<std::string> value;
  if (existing != nullptr) value.emplace(existing, existing_bytes);
  return Fold(state, std::move(value), operands, sizes, count, success, bytes);
}

char* PartialMerge(void* state, const char*, size_t, const char* const* operands, const size_t* sizes, int count,
                   unsigned char* success, size_t* bytes) {
  return Fold(state, std::nullopt, operands, sizes, count, success, bytes);
}

void Nothing(void*) {}
void Free(void*, const char* value, size_t) { std::free(const_cast<char*>(value)); }
const char* NameOf(void* state) { return static_cast<const Operator*>(state)->name; }

}  // namespace

void SetMergeOperator(const RocksdbLibrary& rocks, std::string_view name, rocksdb_options_t* options) {
  if (name == "uint64add") return rocks.options_set_uint64add_merge_operator_(options);
  for (const Operator& each : kOperators) {
    if (each.name != name) continue;
    void* const state = const_cast<Operator*>(&each);  // RocksDB does not write to it
    rocks.options_set_merge_operator_(
        options, rocks.mergeoperator_create_(state, Nothing, FullMerge, PartialMerge, Free, NameOf));
  }
}

}  // namespace mergedb::bench
