// A series of VersionEdits, as in the MANIFEST: each decodes or is an error. If the resulting Version keeps the
// invariants, its VersionEdit must build the same Version again.
#include "format/version_edit.h"
#include "fuzz/target.h"
#include "version/invariants.h"
#include "version/version_builder.h"

namespace mergedb::fuzz {

namespace {

format::FileMetaPtr File(uint64_t number, const std::string& smallest, const std::string& largest) {
  return std::make_shared<format::FileMeta>(format::FileMeta{.number = kv::FileNumber{number},
                                                             .bytes = 8192,
                                                             .unique_id = number * 3,
                                                             .entries = 30,
                                                             .tombstones = 2,
                                                             .raw_bytes = 900,
                                                             .smallest_sequence = 5,
                                                             .largest_sequence = 50,
                                                             .smallest = smallest,
                                                             .largest = largest});
}

// Each VersionEdit after its length, u16.
std::string Framed(const std::vector<format::VersionEdit>& edits) {
  std::string out;
  for (const format::VersionEdit& edit : edits) {
    const std::string bytes = format::EncodeVersionEdit(edit);
    out += static_cast<char>(bytes.size());
    out += static_cast<char>(bytes.size() >> 8);
    out += bytes;
  }
  return out;
}

}  // namespace

std::vector<std::string> Seeds() {
  format::VersionEdit first;
  first.adds = {{.position = kv::Position{5}, .level = 0, .file = File(7, "a", "m"), .bounds = {}},
                {.position = kv::Position{4}, .level = 1, .file = File(6, "c", "p"), .bounds = {.lower = "d"}},
                {.position = kv::Position{4}, .level = 1, .file = File(8, "q", "z"), .bounds = {}}};
  first.database_id = 9;
  first.comparator = "mergedb.bytewise";
  first.next_file = kv::FileNumber{20};
  first.wal_start = format::VersionEdit::WalStart{.epoch = 2, .salt = 3, .position = 4096, .chain = 77, .sequence = 51};
  first.wal_segments = std::vector<kv::FileNumber>{kv::FileNumber{3}, kv::FileNumber{4}};
  format::VersionEdit second;
  second.cuts = {{.position = kv::Position{5}, .bounds = {.lower = "f", .upper = "k"}},
                 {.position = kv::Position{4}, .bounds = {}}};
  second.levels = {{.position = kv::Position{5}, .level = format::kBottommostLevel}};
  second.clean_wal_end = 8192;
  return {Framed({first}), Framed({first, second}), Framed({second, first, second})};
}

}  // namespace mergedb::fuzz

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  using namespace mergedb;
  const kv::Order order(BytewiseComparator());
  fuzz::Input input(data, bytes);
  version::VersionPtr version = std::make_shared<const version::Version>();
  while (!input.empty()) {
    const auto edit = format::DecodeVersionEdit(std::string(input.TakeBytes(input.TakeNumber(2))));
    if (!edit) continue;
    const auto again = format::DecodeVersionEdit(format::EncodeVersionEdit(*edit));
    FUZZ_CHECK(again && *again == *edit);
    auto next = version::ApplyEdit(order, *version, *edit);
    if (!next) continue;
    version = std::move(*next);
    (void)version->ToString();
    if (!version::CheckInvariants(order, *version).ok()) return 0;  // the loader rejects such a Version, too
    const auto copy = version::ApplyEdit(order, version::Version(), version::VersionEditFromEmpty(*version));
    FUZZ_CHECK(copy && (*copy)->ToString() == version->ToString());
  }
  return 0;
}
