// The fixture of tests of one database whose files are in memory, and whose background work the test runs.
//
//     class MergeTest : public testing::SimulatedDb {};  // open, with options_
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "gtest/gtest.h"
#include "mergedb/db.h"
#include "testing/contents.h"
#include "testing/numbered_key.h"
#include "testing/simulated_env.h"
#include "testing/status_matchers.h"

namespace mergedb::testing {

class SimulatedDb : public ::testing::Test {
 protected:
  void SetUp() override { Reopen(); }
  void TearDown() override { db_ = nullptr; }  // before the members of derived fixtures
  void Reopen() { Open(options_); }
  void Open(const Options& options) {
    db_ = nullptr;
    auto db = DB::Open(options, SimulatedEnv::kPath);
    ASSERT_OK(db.status());
    db_ = std::move(*db);
  }
  // The value, or the name of the error code.
  std::string Get(std::string_view key, const ReadOptions& options = {}) {
    std::string value;
    return Show(db_->Get(options, key, &value), value);
  }

  SimulatedEnv sim_;
  Options options_ = sim_.SmallOptions();
  std::unique_ptr<DB> db_;
};

}  // namespace mergedb::testing
