// A trace. Any bytes end in a status; operations that decode encode to a trace that decodes to the same ones. The first
// byte says whether the checksums of head and blocks are corrected.
#include <vector>

#include "base/coding.h"
#include "base/crc32c.h"
#include "fuzz/target.h"
#include "testing/fault_file_system.h"
#include "trace/reader.h"

namespace mergedb::fuzz {

std::vector<std::string> Seeds() {
  using trace::OpKind;
  const trace::Head head{.id = 1, .has_values = true};
  trace::BlockBuilder builder(head.id);
  builder.Add({.kind = OpKind::kPut, .start_micros = 5, .key = "key", .value_bytes = 5, .value = "value"});
  builder.Add({.kind = OpKind::kBatch, .start_micros = 7, .count = 2});
  builder.Add({.kind = OpKind::kDelete, .is_element = true, .key = "key"});
  builder.Add({.kind = OpKind::kDeleteRange, .is_element = true, .keyspace = 3, .key = "a", .end = "b"});
  const std::string first = builder.Finish();
  builder.Add({.kind = OpKind::kGet, .start_micros = 9, .code = Code::kNotFound, .key = "key"});
  builder.Add({.kind = OpKind::kIterator, .start_micros = 10, .key = "a", .iterator = 1, .has_lower = true});
  builder.Add({.kind = OpKind::kNext, .start_micros = 10, .iterator = 1, .count = 7});
  builder.Add({.kind = OpKind::kEnd, .count = 6});
  const std::string whole = "\x01" + trace::EncodeHead(head) + first + builder.Finish();
  return {whole, whole.substr(0, whole.size() / 2), "\x01" + trace::EncodeHead(head)};
}

namespace {

void FixChecksums(std::string* bytes) {
  if (bytes->size() < trace::kHeadBytes) return;
  base::StoreFixed32(&(*bytes)[40], base::Crc32c(bytes->substr(0, 40) + bytes->substr(44, 4)));
  const uint64_t id = base::LoadFixed64(&(*bytes)[16]);
  for (size_t at = trace::kHeadBytes; at + trace::kBlockHeadBytes <= bytes->size();) {
    const std::string_view head = std::string_view(*bytes).substr(at, trace::kBlockHeadBytes);
    const size_t size = base::LoadFixed32(head.data());
    const std::string_view payload = std::string_view(*bytes).substr(at + trace::kBlockHeadBytes, size);
    base::StoreFixed32(&(*bytes)[at + 16], trace::BlockCrc(id, head, payload));
    at += trace::kBlockHeadBytes + payload.size();
  }
}

}  // namespace
}  // namespace mergedb::fuzz

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  using namespace mergedb;
  if (bytes == 0) return 0;
  std::string file(reinterpret_cast<const char*>(data) + 1, bytes - 1);
  if ((data[0] & 1) != 0) fuzz::FixChecksums(&file);
  testing::FaultFileSystem files;
  FUZZ_CHECK(files.WriteWhole("/trace", file).ok());
  const auto reader = trace::Reader::Open(&files, "/trace");
  if (!reader) return 0;
  for (trace::Operation op; (*reader)->Next(&op);) {
    if (op.is_element) op.is_element = false;
    if (trace::IsGroup(op.kind)) op.count = 0;
    trace::BlockBuilder builder(1);
    builder.Add(op);
    const std::string block = builder.Finish();
    trace::BlockDecoder decoder(std::string_view(block).substr(trace::kBlockHeadBytes),
                                trace::DecodeBlockHead(block).base_micros);
    trace::Operation again;
    FUZZ_CHECK(decoder.Next(&again) && again == op);
  }
  FUZZ_CHECK((*reader)->status().ok() == (*reader)->end().has_value());
  return 0;
}
