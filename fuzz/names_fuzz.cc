// Small texts: file names, CURRENT, hex. A text that parses must print as itself or parse again to the same value.
#include "base/bytes.h"
#include "format/file_name.h"
#include "fuzz/target.h"
#include "kv/key.h"
#include "manifest/loader.h"

namespace mergedb::fuzz {

std::vector<std::string> Seeds() {
  return {"000012.tbl",
          "000007.seg",
          "MANIFEST-000005",
          "CURRENT.tmp",
          "STAGING",
          "LOCK",
          "00000000000000000012.tbl",
          manifest::EncodeCurrent({kv::FileNumber{12}}),
          kv::PrintKey(std::string("a#7,\0\xff", 6), kv::MakeTag(7, kv::Kind::kDelete)),
          "foo#7,PUT",
          "\\x00\\xfe\\\\",
          "00ff1a"};
}

namespace {

void CheckName(const std::string& text) {
  const auto name = format::ParseFileName(text);
  if (!name) return;
  FUZZ_CHECK(format::PrintFileName(name->kind, name->number) == text);
  FUZZ_CHECK(text.find('/') == std::string::npos);
}

void CheckCurrent(const std::string& text) {
  const auto number = manifest::DecodeCurrent(text, "CURRENT");
  if (number) FUZZ_CHECK(manifest::EncodeCurrent(*number) == text);
}

void CheckBytes(const std::string& bytes) {
  std::string back;
  FUZZ_CHECK(base::FromHex(base::ToHex(bytes), &back) && back == bytes);
  if (base::FromHex(bytes, &back)) FUZZ_CHECK(back.size() * 2 == bytes.size());
}

}  // namespace
}  // namespace mergedb::fuzz

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  const std::string text(reinterpret_cast<const char*>(data), bytes);
  mergedb::fuzz::CheckName(text);
  mergedb::fuzz::CheckCurrent(text);
  mergedb::fuzz::CheckBytes(text);
  return 0;
}
