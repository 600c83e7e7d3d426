// Goal: bytes in a kept table stay valid, and the file of a kept table does not become obsolete before Clear.
// Method: small tables in memory files.
#include "read/pinned_tables.h"

#include <gtest/gtest.h>

#include "db/state/obsolete_files.h"
#include "tests/unit/table/table_rows.h"

namespace mergedb::read {
namespace {

using testing::Bytewise;

class PinnedTablesTest : public ::testing::Test {
 protected:
  struct Table {
    format::FileMetaPtr file;  // as a Version holds it
    std::shared_ptr<table::Reader> reader;
    std::string_view mapped() const { return reader->mapped(); }
  };
  Table Make(const std::string& path, bool is_mapped = true) {
    const auto meta =
        testing::WriteTable(&files_, path, Bytewise(), {{"key", kv::MakeTag(1, kv::Kind::kPut), "value"}});
    auto reader =
        table::Reader::Open(&files_, path, meta, Bytewise(), nullptr, {.memory = testing::Mapping(is_mapped)});
    EXPECT_TRUE(reader.has_value());
    return {obsolete_->Track(meta), *reader};
  }

  testing::MemoryFiles files_;
  const std::shared_ptr<db::ObsoleteFiles> obsolete_ = std::make_shared<db::ObsoleteFiles>();
  PinnedTables kept_;
};

TEST_F(PinnedTablesTest, HoldsWhatLiesWhollyInAKeptTable) {
  const Table first = Make("1.tbl"), second = Make("2.tbl"), other = Make("3.tbl");
  EXPECT_FALSE(kept_.Holds(first.mapped()));
  kept_.Keep(first.file, first.reader);
  kept_.Keep(second.file, second.reader);
  for (const Table* each : {&first, &second, &first}) {
    const std::string_view mapped = each->mapped();
    EXPECT_TRUE(kept_.Holds(mapped));
    EXPECT_TRUE(kept_.Holds(mapped.substr(1, 3)));
    EXPECT_FALSE(kept_.Holds({mapped.data() - 1, 2}));
    EXPECT_FALSE(kept_.Holds({mapped.data() + mapped.size() - 1, 2}));
  }
  const std::string elsewhere = "value";
  EXPECT_FALSE(kept_.Holds(elsewhere));
  EXPECT_FALSE(kept_.Holds({}));
  EXPECT_FALSE(kept_.Holds(other.mapped()));
}

TEST_F(PinnedTablesTest, KeepsATableOnceAndOneThatIsNotMappedNotAtAll) {
  const Table mapped = Make("1.tbl"), read = Make("2.tbl", false);
  for (int i = 0; i < 3; ++i) {
    kept_.Keep(mapped.file, mapped.reader);
    kept_.Keep(read.file, read.reader);
  }
  EXPECT_EQ(kept_.count(), 1u);
}

TEST_F(PinnedTablesTest, KeepsMemtablesAndTellsWhichOfThemASnapshotSees) {
  auto memtable = std::make_shared<memtable::Memtable>(Bytewise(), memtable::NewMemory(size_t{1} << 20));
  EXPECT_FALSE(memtable->HasUpTo(kv::kSequenceMax)) << "it is empty";
  memtable->Add("key", kv::MakeTag(7, kv::Kind::kPut), "value");
  EXPECT_FALSE(memtable->HasUpTo(6));
  EXPECT_TRUE(memtable->HasUpTo(7));
  memtable::Memtable::Found found;
  ASSERT_TRUE(memtable->Get("key", 7, &found));
  EXPECT_FALSE(kept_.Holds(found.value));
  const Table table = Make("1.tbl");
  for (int i = 0; i < 3; ++i) {
    kept_.Keep(memtable);
    kept_.Keep(table.file, table.reader);
  }
  EXPECT_EQ(kept_.count(), 2u);
  const std::weak_ptr<memtable::Memtable> observed = memtable;
  memtable = nullptr;
  EXPECT_FALSE(observed.expired());
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(kept_.Holds(found.value));
    EXPECT_TRUE(kept_.Holds(table.mapped()));
  }
  EXPECT_EQ(found.value, "value");
  kept_.Clear();
  EXPECT_TRUE(observed.expired());
  EXPECT_FALSE(kept_.Holds(found.value));
}

// If the file became obsolete earlier, it could be recycled and overwritten under the mapping.
TEST_F(PinnedTablesTest, AFileBecomesObsoleteWhenItIsReleased) {
  Table table = Make("1.tbl");
  kept_.Keep(table.file, table.reader);
  const std::string_view mapped = table.mapped();
  table = {};
  EXPECT_FALSE(obsolete_->HasAny());
  EXPECT_TRUE(kept_.Holds(mapped));
  kept_.Clear();
  EXPECT_TRUE(obsolete_->HasAny());
  EXPECT_FALSE(kept_.Holds(mapped));
}

}  // namespace
}  // namespace mergedb::read
