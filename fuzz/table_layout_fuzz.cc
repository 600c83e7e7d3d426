// The small parts of a table: footer, properties, filter, and a part with its trailer.
#include "format/bloom.h"
#include "format/table_layout.h"
#include "fuzz/fix_checksums.h"
#include "fuzz/target.h"

namespace mergedb::fuzz {

// First byte: which part. Second byte: 1 if checksums are recomputed.
std::vector<std::string> Seeds() {
  const format::Footer footer{.unique_id = 7,
                              .file_bytes = 8192,
                              .data_bytes = 4000,
                              .filter_bytes = 70,
                              .index_bytes = 50,
                              .properties_bytes = 90};
  const format::FileMeta meta{.number = kv::FileNumber{7},
                              .bytes = 0,
                              .unique_id = 9,
                              .entries = 3,
                              .tombstones = 1,
                              .raw_bytes = 30,
                              .smallest_sequence = 1,
                              .largest_sequence = 5,
                              .smallest = "a",
                              .largest = "zz"};
  const format::Properties properties{.meta = meta, .comparator = "mergedb.bytewise", .writer = "mergedb"};
  std::string part = "payload", trailer(format::kTrailerBytes, '\0');
  format::StoreTrailer(trailer.data(), part, Compression::kNone, {});
  const auto seed = [](char which, char has_fixed_checksums, const std::string& bytes) {
    return std::string{which, has_fixed_checksums} + bytes;
  };
  return {seed(0, 0, format::EncodeFooter(footer)), seed(0, 1, format::EncodeFooter(footer)),
          seed(1, 0, format::EncodeProperties(properties)),
          seed(2, 0, format::EncodeBloom({1, 2, 3, 0xffffffffffffffff}, 10)), seed(3, 0, part + trailer)};
}

namespace {

void CheckFooter(std::string bytes, bool has_fixed_checksums) {
  if (has_fixed_checksums) FixTableChecksums(&bytes);  // a footer alone is a valid end of a table for FixTableChecksums
  constexpr uint64_t kFileBytes = 8192;
  format::Footer footer;
  if (!format::DecodeFooter(bytes, kFileBytes, &footer).ok()) return;
  FUZZ_CHECK(footer.file_bytes == kFileBytes && footer.sections_end() <= kFileBytes - format::kFooterBytes);
  format::Footer again;
  FUZZ_CHECK(format::DecodeFooter(format::EncodeFooter(footer), kFileBytes, &again).ok() && again == footer);
}

void CheckProperties(const std::string& bytes) {
  format::Properties properties, again;
  if (!format::DecodeProperties(bytes, &properties).ok()) return;
  FUZZ_CHECK(format::DecodeProperties(format::EncodeProperties(properties), &again).ok() && again == properties);
}

void CheckBloom(const std::string& bytes) {
  format::Bloom bloom;
  if (!bloom.Decode(bytes).ok()) return;
  for (uint64_t hash = 1; hash != 0; hash *= 6) {
    bloom.Prefetch(hash);
    (void)bloom.MayContain(hash);
    (void)bloom.MayContain(~hash);
  }
}

void CheckPart(const std::string& bytes) {
  format::Part part;
  for (const bool verify : {true, false}) {
    if (format::OpenPart(bytes, {}, verify, &part).ok())
      FUZZ_CHECK(part.payload.size() + format::kTrailerBytes == bytes.size());
  }
}

}  // namespace
}  // namespace mergedb::fuzz

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  using namespace mergedb::fuzz;
  Input input(data, bytes);
  const uint8_t which = input.TakeByte() % 4;
  const bool has_fixed_checksums = input.TakeByte() % 2 == 1;
  const std::string part(input.rest());
  if (which == 0) CheckFooter(part, has_fixed_checksums);
  if (which == 1) CheckProperties(part);
  if (which == 2) CheckBloom(part);
  if (which == 3) CheckPart(part);
  return 0;
}
