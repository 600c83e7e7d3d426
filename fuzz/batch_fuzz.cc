// The records of a batch, which are also the payload of a WAL frame. A batch that decodes must encode to the
// same records.
#include "format/batch.h"
#include "fuzz/target.h"
#include "mergedb/write_batch.h"

namespace mergedb::fuzz {

std::vector<std::string> Seeds() {
  WriteBatch batch;
  batch.Put("key", "value");
  batch.Delete("gone");
  batch.Put("", std::string(200, 'v'));
  batch.DeleteRange("from", "to");
  std::string reserved;
  format::AppendRecord(&reserved, kv::Kind::kMerge, "sum", "1");
  return {"", std::string(batch.rep()), reserved};
}

}  // namespace mergedb::fuzz

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  using namespace mergedb;
  const std::string_view rep(reinterpret_cast<const char*>(data), bytes);
  std::string again;
  format::BatchReader reader(rep);
  while (reader.Next()) format::AppendRecord(&again, reader.kind(), reader.key(), reader.value());
  if (!reader.status().ok()) return 0;
  format::BatchReader first(rep), second(again);  // lengths in `rep` may be longer than needed
  while (first.Next()) {
    FUZZ_CHECK(second.Next() && first.kind() == second.kind() && first.key() == second.key() &&
               first.value() == second.value());
  }
  FUZZ_CHECK(!second.Next() && second.status().ok());
  return 0;
}
