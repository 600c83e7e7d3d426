// The C interface with random option bytes, random handles, and batches filled in any order. All pointers are
// valid, because the caller of the C interface must pass valid pointers.
#include <cstring>

#include "fuzz/target.h"
#include "mergedb/c.h"

namespace mergedb::fuzz {

// Options, then 8 bytes of handle, then operations on a batch.
std::vector<std::string> Seeds() {
  mergedb_options options = {};
  options.struct_size = sizeof options;
  std::string plain(reinterpret_cast<const char*>(&options), sizeof options);
  options.mode = MERGEDB_READ_ONLY;
  options.style = MERGEDB_STYLE_CASCADE;
  options.memory_bytes = 1 << 20;
  options.write_buffer_bytes = 64 << 10;
  options.compression_upper = MERGEDB_COMPRESSION_ZSTD;
  options.bloom_bits_per_key = -1;
  options.block_bytes = 4096;
  std::string chosen(reinterpret_cast<const char*>(&options), sizeof options);
  return {plain + "\x01\x00\x00\x00\x00\x00\x00\x10" + "\x01keyvalue\x02key\x03",
          chosen + std::string(8, '\0') + "\x01\x01k\x04"};
}

namespace {

// The directory cannot be created, so that no options leave files behind.
void OpenNowhere(Input* input) {
  mergedb_options options = {};
  const std::string_view raw = input->TakeBytes(sizeof options);
  std::memcpy(static_cast<void*>(&options), raw.data(), raw.size());
  options.comparator = nullptr;
  options.logger = nullptr;
  options.listener = nullptr;
  options.merge_operators = nullptr;
  options.merge_operator_count = 0;
  // mergedb reads as many bytes as struct_size says, so it must not exceed the object.
  if (options.struct_size > sizeof options) options.struct_size = sizeof options;
  mergedb_db db = 1;
  mergedb_error error;
  FUZZ_CHECK(mergedb_open("/proc/none/such", &options, &db, &error) != MERGEDB_OK && db == 0);
  FUZZ_CHECK(error.code != MERGEDB_OK && std::memchr(error.message, 0, sizeof error.message) != nullptr &&
             error.message[0] != 0);
}

void UseNobodysHandle(uint64_t handle) {
  mergedb_error error;
  void* value = &error;
  size_t size = 1;
  FUZZ_CHECK(mergedb_put(handle, nullptr, "k", 1, "v", 1, &error) == MERGEDB_BAD_HANDLE);
  FUZZ_CHECK(mergedb_get(handle, nullptr, "k", 1, &value, &size, &error) == MERGEDB_BAD_HANDLE && value == nullptr);
  FUZZ_CHECK(mergedb_close(handle, &error) == MERGEDB_BAD_HANDLE);
  FUZZ_CHECK(mergedb_iterator_next(handle, &error) == MERGEDB_BAD_HANDLE);
  FUZZ_CHECK(mergedb_iterator_close(handle, nullptr) == MERGEDB_BAD_HANDLE);
  FUZZ_CHECK(mergedb_snapshot_close(handle, nullptr) == MERGEDB_BAD_HANDLE);
  FUZZ_CHECK(mergedb_batch_close(handle, nullptr) == MERGEDB_BAD_HANDLE);
}

void FillBatches(Input* input) {
  mergedb_batch batches[2];
  uint64_t expected[2] = {0, 0};
  for (mergedb_batch& batch : batches) FUZZ_CHECK(mergedb_batch_create(&batch, nullptr) == MERGEDB_OK);
  while (!input->empty()) {
    const uint8_t step = input->TakeByte();
    const size_t which = step >> 7;
    const std::string_view key = input->TakeBytes(step >> 3 & 7), value = input->TakeBytes(step >> 4 & 7);
    const size_t other = 1 - which;
    switch (step % 5) {
      case 0:
        FUZZ_CHECK(mergedb_batch_clear(batches[which], nullptr) == MERGEDB_OK);
        expected[which] = 0;
        break;
      case 1:
        FUZZ_CHECK(mergedb_batch_put(batches[which], key.data(), key.size(), value.data(), value.size(), nullptr) ==
                   MERGEDB_OK);
        ++expected[which];
        break;
      case 2:
        FUZZ_CHECK(mergedb_batch_delete(batches[which], key.data(), key.size(), nullptr) == MERGEDB_OK);
        ++expected[which];
        break;
      case 3:
        if (expected[which] + expected[other] > 100'000) break;  // appends grow exponentially
        FUZZ_CHECK(mergedb_batch_append(batches[which], batches[other], nullptr) == MERGEDB_OK);
        expected[which] += expected[other];
        break;
      case 4: FUZZ_CHECK(mergedb_batch_append(batches[which], batches[which], nullptr) != MERGEDB_OK); break;
    }
  }
  for (size_t which = 0; which < 2; ++which) {
    uint64_t count = 0, bytes = 0;
    FUZZ_CHECK(mergedb_batch_size(batches[which], &count, &bytes, nullptr) == MERGEDB_OK && count == expected[which]);
    FUZZ_CHECK(mergedb_batch_close(batches[which], nullptr) == MERGEDB_OK);
    FUZZ_CHECK(mergedb_batch_close(batches[which], nullptr) == MERGEDB_BAD_HANDLE);
  }
}

}  // namespace
}  // namespace mergedb::fuzz

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  mergedb::fuzz::Input input(data, bytes);
  mergedb::fuzz::OpenNowhere(&input);
  mergedb::fuzz::UseNobodysHandle(input.TakeNumber(8));
  mergedb::fuzz::FillBatches(&input);
  return 0;
}
