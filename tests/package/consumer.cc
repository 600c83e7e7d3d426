// An external program: derives from every class of the interface that a program may implement, with and
// without RTTI.
#include <mergedb/db.h>
#include <mergedb/leveldb.h>
#include <mergedb/merge.h>
#include <mergedb/repair.h>

#include <cstdio>

namespace {

class Backwards final : public mergedb::Comparator {
 public:
  int Compare(std::string_view a, std::string_view b) const override { return b.compare(a); }
  std::string_view Name() const override { return "consumer.backwards"; }
};

class Silence final : public mergedb::Logger {
 public:
  void Log(std::string_view) override {}
};

int Fail(const mergedb::Status& status) {
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const Backwards backwards;
  Silence silence;
  mergedb::Options options;
  options.comparator = &backwards;
  options.env.logger = &silence;
  auto db = mergedb::DB::Open(options, argv[1]);
  if (!db) return Fail(db.error());
  for (const char* key : {"a", "b"}) {
    if (auto status = (*db)->Put({}, key, key); !status.ok()) return Fail(status);
  }
  if (auto status = (*db)->Merge({}, "c", mergedb::merge::AddU64(1)); !status.ok()) return Fail(status);
  const auto it = (*db)->NewIterator();
  for (it->SeekToFirst(); it->Valid(); it->Next())
    std::printf("%.*s", static_cast<int>(it->key().size()), it->key().data());
  if (auto status = (*db)->Close(); !status.ok()) return Fail(status);
  if (auto verified = mergedb::Verify(options, argv[1]); !verified) return Fail(verified.error());
  std::printf("\n");
  return 0;
}
