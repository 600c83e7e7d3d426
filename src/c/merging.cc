#include "c/merging.h"

#include <optional>
#include <utility>

#include "c/interface.h"
#include "c/options.h"
#include "mergedb/merge.h"

struct mergedb_merge_result {
  std::string* bytes = nullptr;
  bool is_set = false;
  bool has_failed = false;
  std::string message = {};
};

namespace mergedb::c {
namespace {

class ForeignOperator final : public Foreign<MergeOperator, mergedb_merge_operator> {
 public:
  explicit ForeignOperator(const mergedb_merge_operator& given) : Foreign(given), name_(given.name) {}

  std::string_view Name() const override { return name_; }

  Status Apply(std::string_view key, std::optional<std::string_view> base, Span<const std::string_view> operands,
               std::string* result) const override {
    std::vector<mergedb_slice> slices;
    slices.reserve(operands.size());
    for (const std::string_view operand : operands) slices.push_back(SliceOf(operand));
    const mergedb_slice base_slice = base ? SliceOf(*base) : mergedb_slice{};
    mergedb_merge_result made{.bytes = result};
    given_.apply(given_.state, SliceOf(key), base ? &base_slice : nullptr, slices.data(), slices.size(), &made);
    if (made.has_failed) return Status::MergeFailed(made.message);
    return made.is_set ? Status::Ok() : Status::MergeFailed("no result was set");
  }

  bool Combine(std::string_view key, std::string_view older, std::string_view newer,
               std::string* operand) const override {
    if (given_.combine == nullptr) return false;
    mergedb_merge_result made{.bytes = operand};
    given_.combine(given_.state, SliceOf(key), SliceOf(older), SliceOf(newer), &made);
    return made.is_set && !made.has_failed;
  }

 private:
  const std::string name_;
};

}  // namespace

Status EncodeOperand(const mergedb_operand& given, std::string* operand) {
  RETURN_IF_ERROR(CheckBytes(given.bytes, "bytes"));
  RETURN_IF_ERROR(CheckBytes(given.delimiter, "delimiter"));
  const std::string_view bytes = ToStringView(given.bytes);
  if (given.type == MERGEDB_PROGRAM) {
    RETURN_IF_ERROR(CheckPointer(given.name, "name"));
    *operand = merge::Named(given.name, bytes);
    return {};
  }
  if (given.type == MERGEDB_ENCODED) {
    operand->assign(bytes);
    return {};
  }
  const merge::Keep keep = given.keep == MERGEDB_KEEP_OLDEST ? merge::Keep::kOldest : merge::Keep::kNewest;
  std::optional<std::string> made = merge::Make(
      given.type, {.u64 = given.u64,
                   .i64 = given.i64,
                   .f64 = given.f64,
                   .bytes = bytes,
                   .append = {.delimiter = ToStringView(given.delimiter), .cap_bytes = given.cap_bytes, .keep = keep}});
  if (!made) {
    return Status::InvalidArgument("mergedb_operand: type is " + std::to_string(given.type) +
                                   ", expected a mergedb_operand_type, such as MERGEDB_ADD_U64");
  }
  *operand = std::move(*made);
  return {};
}

std::shared_ptr<const MergeOperator> NewForeignOperator(const mergedb_merge_operator& given) {
  return std::make_shared<ForeignOperator>(given);
}

}  // namespace mergedb::c

using namespace mergedb;
using namespace mergedb::c;

extern "C" {

void mergedb_merge_result_set(mergedb_merge_result* result, const void* data, size_t size) {
  if (result == nullptr || (data == nullptr && size > 0)) return;
  result->bytes->assign(ToStringView(data, size));
  result->is_set = true;
}

void mergedb_merge_result_fail(mergedb_merge_result* result, const char* message) {
  if (result == nullptr) return;
  result->message = message == nullptr ? "" : message;
  result->has_failed = true;
}

mergedb_code mergedb_merge(mergedb_db db, const mergedb_write_options* options, const void* key, size_t key_size,
                           const mergedb_operand* operand, mergedb_error* error) {
  return WriteOn(db, options, error, [&](DB& target, const WriteOptions& write, Keyspace keyspace) {
    RETURN_IF_ERROR(CheckBytes(key, key_size, "key"));
    std::string encoded;
    RETURN_IF_ERROR(DecodeOperand(operand, &encoded));
    return target.Merge(write, keyspace, ToStringView(key, key_size), encoded);
  });
}

mergedb_code mergedb_add_u64(mergedb_db db, const mergedb_write_options* options, const void* key, size_t key_size,
                             uint64_t delta, mergedb_error* error) {
  mergedb_operand operand = {};
  operand.struct_size = sizeof operand;
  operand.type = MERGEDB_ADD_U64;
  operand.u64 = delta;
  return mergedb_merge(db, options, key, key_size, &operand, error);
}

mergedb_code mergedb_batch_merge(mergedb_batch batch, const void* key, size_t key_size, const mergedb_operand* operand,
                                 mergedb_error* error) {
  return On<BatchHolder>(batch, error, [&](BatchHolder& target) {
    RETURN_IF_ERROR(CheckBytes(key, key_size, "key"));
    std::string encoded;
    RETURN_IF_ERROR(DecodeOperand(operand, &encoded));
    target.batch.Merge(target.keyspace, ToStringView(key, key_size), encoded);
    return Status::Ok();
  });
}

}  // extern "C"
