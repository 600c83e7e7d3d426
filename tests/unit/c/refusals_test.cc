// Goal: the C interface refuses invalid arguments with a code and a message that names the argument, before
// it does anything else. Method: each function with one wrong argument at a time; afterwards the database,
// the batch and the transaction are unchanged. tests/db/arguments_test.cc tests null arguments of the plain
// calls, and the options of an open.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "c/interface.h"
#include "c/merging.h"
#include "mergedb/c.h"
#include "testing/apart.h"
#include "testing/simulated_env.h"
#include "testing/temp_directory.h"
#include "testing/waiting_thread.h"

namespace mergedb::c {
namespace {

using ::testing::HasSubstr;

constexpr const char* kNullOf3 = " is NULL but its size is 3";

template <typename T>
T Sized() {
  T made = {};
  made.struct_size = sizeof made;
  return made;
}

// Returns a handle for a database in memory. A C program cannot open one, and it opens quickly.
mergedb_db HandleOf(std::unique_ptr<DB> database) {
  auto opened = std::make_shared<Opened>();
  opened->db = std::move(database);
  mergedb_db db = 0;
  EXPECT_TRUE(GiveHandle(HandleKind::kDatabase, std::make_unique<Database>(std::move(opened)), &db).ok());
  return db;
}

class CInterfaceRefusals : public ::testing::Test {
 protected:
  void SetUp() override {
    db_ = HandleOf(std::move(sim_.Open()).value());
    ASSERT_EQ(mergedb_put(db_, nullptr, "k", 1, "v", 1, &error_), MERGEDB_OK);
    ASSERT_EQ(mergedb_keyspace_create(db_, "made", 4, MERGEDB_DEFAULT, &keyspace_, &error_), MERGEDB_OK)
        << error_.message;
    ASSERT_EQ(mergedb_batch_create(&batch_, &error_), MERGEDB_OK);
  }
  void TearDown() override {
    EXPECT_EQ(Value("k"), "v");
    EXPECT_EQ(Names(), "made ");
    if (transaction_ != 0) { EXPECT_EQ(mergedb_transaction_close(transaction_, &error_), MERGEDB_OK); }
    EXPECT_EQ(mergedb_batch_close(batch_, &error_), MERGEDB_OK);
    EXPECT_EQ(mergedb_close(db_, &error_), MERGEDB_OK) << error_.message;
  }

  void Begin(int32_t kind = MERGEDB_SINGLE_WRITER) {
    auto options = Sized<mergedb_transaction_options>();
    options.kind = kind;
    ASSERT_EQ(mergedb_transaction_begin(db_, &options, &transaction_, &error_), MERGEDB_OK) << error_.message;
  }
  std::string Value(const std::string& key) {
    char buffer[64];
    size_t size = 0;
    const mergedb_code code =
        mergedb_get_into(db_, nullptr, key.data(), key.size(), buffer, sizeof buffer, &size, &error_);
    return code == MERGEDB_OK ? std::string(buffer, size) : mergedb_code_name(code);
  }
  std::string Names() {
    mergedb_keyspace_entry* entries = nullptr;
    size_t count = 0;
    EXPECT_EQ(mergedb_keyspace_list(db_, nullptr, &entries, &count, &error_), MERGEDB_OK) << error_.message;
    std::string names;
    for (size_t i = 0; i < count; ++i)
      names += std::string(static_cast<const char*>(entries[i].name.data), entries[i].name.size) + ' ';
    mergedb_free(entries);
    return names;
  }
  void Expect(mergedb_code code, mergedb_code expected, const std::string& part, const std::string& call) {
    EXPECT_EQ(code, expected) << call << ": " << error_.message;
    EXPECT_EQ(error_.code, code) << call;
    EXPECT_THAT(error_.message, HasSubstr(part)) << call;
    EXPECT_EQ(error_.outcome_unknown, 0) << call;
    error_ = {};
  }

  const testing::TempDirectory directory_;
  testing::SimulatedEnv sim_;
  mergedb_error error_ = {};
  mergedb_db db_ = 0;
  mergedb_keyspace keyspace_ = 0;
  mergedb_batch batch_ = 0;
  mergedb_transaction transaction_ = 0;
};
#define REFUSED(part, call) Expect(call, MERGEDB_INVALID_ARGUMENT, part, #call)
#define FAILS(code, part, call) Expect(call, code, part, #call)

// ---- pointers

TEST_F(CInterfaceRefusals, NullBytesThatHaveASize) {
  mergedb_keyspace made = 9;
  const auto operand = Sized<mergedb_operand>();
  REFUSED(std::string("begin") + kNullOf3, mergedb_delete_range(db_, nullptr, nullptr, 3, "z", 1, &error_));
  REFUSED(std::string("end") + kNullOf3, mergedb_delete_range(db_, nullptr, "a", 1, nullptr, 3, &error_));
  REFUSED(std::string("prefix") + kNullOf3, mergedb_delete_prefix(db_, nullptr, nullptr, 3, &error_));
  REFUSED(std::string("key") + kNullOf3, mergedb_merge(db_, nullptr, nullptr, 3, &operand, &error_));
  REFUSED(std::string("key") + kNullOf3, mergedb_add_u64(db_, nullptr, nullptr, 3, 1, &error_));
  REFUSED(std::string("begin") + kNullOf3, mergedb_batch_delete_range(batch_, nullptr, 3, "z", 1, &error_));
  REFUSED(std::string("end") + kNullOf3, mergedb_batch_delete_range(batch_, "a", 1, nullptr, 3, &error_));
  REFUSED(std::string("key") + kNullOf3, mergedb_batch_merge(batch_, nullptr, 3, &operand, &error_));
  REFUSED(std::string("name") + kNullOf3, mergedb_keyspace_create(db_, nullptr, 3, MERGEDB_DEFAULT, &made, &error_));
  REFUSED(std::string("name") + kNullOf3, mergedb_keyspace_open(db_, nullptr, nullptr, 3, &made, &error_));
  EXPECT_EQ(made, 0u);
  uint64_t count = 9;
  EXPECT_EQ(mergedb_batch_size(batch_, &count, nullptr, &error_), MERGEDB_OK);
  EXPECT_EQ(count, 0u);
}

TEST_F(CInterfaceRefusals, NullWhereAnAnswerOfKeyspacesGoes) {
  mergedb_keyspace_entry* entries = nullptr;
  size_t count = 0;
  REFUSED("keyspace is NULL", mergedb_keyspace_create(db_, "new", 3, MERGEDB_DEFAULT, nullptr, &error_));
  REFUSED("keyspace is NULL", mergedb_keyspace_open(db_, nullptr, "made", 4, nullptr, &error_));
  REFUSED("entries is NULL", mergedb_keyspace_list(db_, nullptr, nullptr, &count, &error_));
  REFUSED("count is NULL", mergedb_keyspace_list(db_, nullptr, &entries, nullptr, &error_));
}

TEST_F(CInterfaceRefusals, NullInATransaction) {
  Begin();
  const auto operand = Sized<mergedb_operand>();
  void* value = nullptr;
  size_t size = 0;
  mergedb_keyspace made = 9;
  mergedb_keyspace_entry* entries = nullptr;
  const mergedb_transaction t = transaction_;
  REFUSED(std::string("key") + kNullOf3, mergedb_transaction_get(t, 0, nullptr, 3, &value, &size, &error_));
  REFUSED("value is NULL", mergedb_transaction_get(t, 0, "k", 1, nullptr, &size, &error_));
  REFUSED("value_size is NULL", mergedb_transaction_get(t, 0, "k", 1, &value, nullptr, &error_));
  REFUSED(std::string("key") + kNullOf3, mergedb_transaction_put(t, 0, nullptr, 3, "v", 1, &error_));
  REFUSED(std::string("value") + kNullOf3, mergedb_transaction_put(t, 0, "k", 1, nullptr, 3, &error_));
  REFUSED(std::string("key") + kNullOf3, mergedb_transaction_delete(t, 0, nullptr, 3, &error_));
  REFUSED(std::string("begin") + kNullOf3, mergedb_transaction_delete_range(t, 0, nullptr, 3, "z", 1, &error_));
  REFUSED(std::string("end") + kNullOf3, mergedb_transaction_delete_range(t, 0, "a", 1, nullptr, 3, &error_));
  REFUSED(std::string("key") + kNullOf3, mergedb_transaction_merge(t, 0, nullptr, 3, &operand, &error_));
  REFUSED("operand is NULL", mergedb_transaction_merge(t, 0, "k", 1, nullptr, &error_));
  REFUSED(std::string("name") + kNullOf3,
          mergedb_transaction_keyspace_create(t, nullptr, 3, MERGEDB_DEFAULT, &made, &error_));
  REFUSED("keyspace is NULL", mergedb_transaction_keyspace_create(t, "new", 3, MERGEDB_DEFAULT, nullptr, &error_));
  REFUSED(std::string("name") + kNullOf3, mergedb_transaction_keyspace_open(t, nullptr, 3, &made, &error_));
  REFUSED("keyspace is NULL", mergedb_transaction_keyspace_open(t, "made", 4, nullptr, &error_));
  REFUSED("entries is NULL", mergedb_transaction_keyspace_list(t, nullptr, &size, &error_));
  REFUSED("count is NULL", mergedb_transaction_keyspace_list(t, &entries, nullptr, &error_));
  REFUSED("key is NULL", mergedb_transaction_conflict(t, &made, nullptr, &size, &error_));
  REFUSED("key_size is NULL", mergedb_transaction_conflict(t, &made, &value, nullptr, &error_));
  REFUSED("cursor is NULL", mergedb_cursor_open(t, 0, nullptr, &error_));
  EXPECT_EQ(value, nullptr);
  uint64_t writes = 9;
  EXPECT_EQ(mergedb_transaction_size(t, nullptr, &writes, nullptr, &error_), MERGEDB_OK);
  EXPECT_EQ(writes, 0u);
}

TEST_F(CInterfaceRefusals, NullOfACursor) {
  Begin();
  mergedb_cursor cursor = 0;
  ASSERT_EQ(mergedb_cursor_open(transaction_, 0, &cursor, &error_), MERGEDB_OK);
  ASSERT_EQ(mergedb_cursor_move(cursor, MERGEDB_TO_FIRST, nullptr, 3, &error_), MERGEDB_OK)
      << "does not look at the key";
  REFUSED(std::string("key") + kNullOf3, mergedb_cursor_move(cursor, MERGEDB_TO_KEY, nullptr, 3, &error_));
  REFUSED(std::string("value") + kNullOf3, mergedb_cursor_put(cursor, nullptr, 3, &error_));
  REFUSED("to is 99", mergedb_cursor_move(cursor, 99, nullptr, 0, &error_));
  mergedb_slice key = {};
  EXPECT_EQ(mergedb_cursor_entry(cursor, &key, nullptr, &error_), MERGEDB_OK) << "it stands where it stood";
  EXPECT_EQ(std::string(static_cast<const char*>(key.data), key.size), "k");
  EXPECT_EQ(mergedb_cursor_close(cursor, &error_), MERGEDB_OK);
}

// ---- structs

TEST_F(CInterfaceRefusals, WriteOptionsOfEveryWrite) {
  const auto operand = Sized<mergedb_operand>();
  using Write = std::function<mergedb_code(const mergedb_write_options*)>;
  const std::vector<std::pair<const char*, Write>> writes = {
      {"put", [&](auto* o) { return mergedb_put(db_, o, "k", 1, "w", 1, &error_); }},
      {"delete", [&](auto* o) { return mergedb_delete(db_, o, "k", 1, &error_); }},
      {"delete_range", [&](auto* o) { return mergedb_delete_range(db_, o, "a", 1, "z", 1, &error_); }},
      {"delete_prefix", [&](auto* o) { return mergedb_delete_prefix(db_, o, "k", 1, &error_); }},
      {"write", [&](auto* o) { return mergedb_write(db_, o, batch_, &error_); }},
      {"merge", [&](auto* o) { return mergedb_merge(db_, o, "k", 1, &operand, &error_); }},
      {"add_u64", [&](auto* o) { return mergedb_add_u64(db_, o, "k", 1, 1, &error_); }},
      {"keyspace_drop", [&](auto* o) { return mergedb_keyspace_drop(db_, o, keyspace_, &error_); }},
      {"keyspace_clear", [&](auto* o) { return mergedb_keyspace_clear(db_, o, keyspace_, &error_); }},
  };
  auto small = Sized<mergedb_write_options>(), lazy = small, placed = small;
  small.struct_size = 3;
  lazy.durability = 17;
  placed.keyspace = keyspace_;
  for (const auto& [name, write] : writes) {
    Expect(write(&small), MERGEDB_INVALID_ARGUMENT, "mergedb_write_options: struct_size is 3", name);
    Expect(write(&lazy), MERGEDB_INVALID_ARGUMENT, "mergedb_write_options: durability is 17, expected 0 to 2", name);
  }
  REFUSED("keyspace is 1, expected 0, for this call", mergedb_keyspace_drop(db_, &placed, keyspace_, &error_));
  REFUSED("keyspace is 1, expected 0, for this call", mergedb_keyspace_clear(db_, &placed, keyspace_, &error_));
  REFUSED("a batch says itself", mergedb_write(db_, &placed, batch_, &error_));
}

TEST_F(CInterfaceRefusals, ReadOptionsOfWhatIsAboutNoKeyspace) {
  auto placed = Sized<mergedb_read_options>(), newer = placed;
  placed.keyspace = keyspace_;
  newer.reserved = 1;
  auto walk = Sized<mergedb_iterator_options>(), keys = walk;
  walk.read = &placed;
  keys.keys_only = 5;
  mergedb_iterator iterator = 0;
  mergedb_keyspace found = 0;
  mergedb_keyspace_entry* entries = nullptr;
  size_t count = 0;
  REFUSED("mergedb_read_options: keyspace is 1, expected 0", mergedb_iterator_create(db_, &walk, &iterator, &error_));
  REFUSED("mergedb_iterator_options: keys_only is 5", mergedb_iterator_create(db_, &keys, &iterator, &error_));
  REFUSED("mergedb_read_options: keyspace is 1, expected 0",
          mergedb_keyspace_open(db_, &placed, "made", 4, &found, &error_));
  REFUSED("mergedb_read_options: reserved is 1", mergedb_keyspace_list(db_, &newer, &entries, &count, &error_));
  EXPECT_EQ(iterator, 0u);
}

TEST_F(CInterfaceRefusals, FlagsThatAreNeitherYesNorNo) {
  mergedb_keyspace made = 0;
  REFUSED("may_exist is 7", mergedb_keyspace_create(db_, "new", 3, 7, &made, &error_));
  Begin();
  REFUSED("may_exist is 7", mergedb_transaction_keyspace_create(transaction_, "new", 3, 7, &made, &error_));
}

TEST_F(CInterfaceRefusals, Operands) {
  auto small = Sized<mergedb_operand>(), typeless = small, keep = small, bytes = small, delimiter = small,
       nameless = small;
  small.struct_size = 3;
  keep.keep = 2;
  bytes.bytes = {nullptr, 3};
  delimiter.type = MERGEDB_APPEND;
  delimiter.delimiter = {nullptr, 3};
  nameless.type = MERGEDB_PROGRAM;
  const std::vector<std::pair<const mergedb_operand*, std::string>> mistakes = {
      {nullptr, "operand is NULL"},
      {&small, "mergedb_operand: struct_size is 3"},
      {&typeless, "type is 0"},
      {&keep, "keep is 2"},
      {&bytes, std::string("bytes") + kNullOf3},
      {&delimiter, std::string("delimiter") + kNullOf3},
      {&nameless, "name is NULL"},
  };
  Begin(MERGEDB_OPTIMISTIC);
  for (const auto& [operand, part] : mistakes) {
    REFUSED(part, mergedb_merge(db_, nullptr, "k", 1, operand, &error_));
    REFUSED(part, mergedb_batch_merge(batch_, "k", 1, operand, &error_));
    REFUSED(part, mergedb_transaction_merge(transaction_, 0, "k", 1, operand, &error_));
  }
}

TEST_F(CInterfaceRefusals, LoggersAndOperatorsOfAnOpenBeforeTheyAreBorrowed) {
  int destroyed = 0;
  const auto destroy = [](void* state) { ++*static_cast<int*>(state); };
  auto logger = Sized<mergedb_logger>();
  logger.destroy = destroy;
  logger.state = &destroyed;
  auto small_logger = logger;
  small_logger.struct_size = 3;
  auto merging = Sized<mergedb_merge_operator>();
  merging.destroy = destroy;
  merging.state = &destroyed;
  auto small_merging = merging;
  small_merging.struct_size = 3;
  const mergedb_merge_operator *null = nullptr, *nameless = &merging, *small = &small_merging;
  const std::vector<std::pair<std::function<void(mergedb_options*)>, const char*>> mistakes = {
      {[&](auto* o) { o->logger = &small_logger; }, "mergedb_logger: struct_size is 3"},
      {[&](auto* o) { o->logger = &logger; }, "mergedb_logger: log is needed"},
      {[&](auto* o) { o->merge_operator_count = 1; }, "merge_operators is NULL"},
      {[&](auto* o) { o->merge_operators = &null, o->merge_operator_count = 1; }, "merge_operators[i] is NULL"},
      {[&](auto* o) { o->merge_operators = &small, o->merge_operator_count = 1; },
       "mergedb_merge_operator: struct_size is 3"},
      {[&](auto* o) { o->merge_operators = &nameless, o->merge_operator_count = 1; }, "name and apply are needed"},
  };
  for (const auto& [mistake, part] : mistakes) {
    auto options = Sized<mergedb_options>();
    mistake(&options);
    mergedb_db opened = 9;
    REFUSED(part, mergedb_open((directory_ / "other").c_str(), &options, &opened, &error_));
    EXPECT_EQ(opened, 0u);
  }
  EXPECT_EQ(destroyed, 0);
}

TEST_F(CInterfaceRefusals, OptionsOfTransactions) {
  auto small = Sized<mergedb_transaction_options>(), kind = small, durability = small, large = small;
  small.struct_size = 3;
  kind.kind = 3;
  durability.durability = 3;
  large.bytes_max = UINT64_MAX;
  REFUSED("transaction is NULL", mergedb_transaction_begin(db_, nullptr, nullptr, &error_));
  mergedb_transaction begun = 9;
  REFUSED("mergedb_transaction_options: struct_size is 3", mergedb_transaction_begin(db_, &small, &begun, &error_));
  REFUSED("kind is 3", mergedb_transaction_begin(db_, &kind, &begun, &error_));
  REFUSED("mergedb_transaction_options: durability is 3", mergedb_transaction_begin(db_, &durability, &begun, &error_));
  REFUSED("bytes_max of 18446744073709551615", mergedb_transaction_begin(db_, &large, &begun, &error_));
  EXPECT_EQ(begun, 0u);
}

TEST_F(CInterfaceRefusals, OptionsOfCopies) {
  const std::string target = "/copy";
  auto small = Sized<mergedb_checkpoint_options>(), may_link = small, verify = small;
  small.struct_size = 3;
  may_link.may_link = 5;
  verify.verify = 5;
  mergedb_checkpoint_report report = {};
  REFUSED("target is NULL", mergedb_checkpoint(db_, nullptr, nullptr, nullptr, &error_));
  REFUSED("mergedb_checkpoint_options: struct_size is 3",
          mergedb_checkpoint(db_, target.c_str(), &small, nullptr, &error_));
  REFUSED("may_link is 5", mergedb_checkpoint(db_, target.c_str(), &may_link, nullptr, &error_));
  REFUSED("verify is 5", mergedb_checkpoint(db_, target.c_str(), &verify, nullptr, &error_));
  REFUSED("mergedb_checkpoint_report: struct_size is 0",
          mergedb_checkpoint(db_, target.c_str(), nullptr, &report, &error_));
  EXPECT_TRUE(sim_.files->SizeOf(target).error().IsNotFound());
}

TEST_F(CInterfaceRefusals, OptionsOfTraces) {
  const std::string path = "/trace";
  auto small = Sized<mergedb_trace_options>(), values = small, bytes = small, sampling = small;
  small.struct_size = 3;
  values.record_values = 5;
  bytes.bytes_max = 1;
  sampling.sampling = 1'000'001;
  REFUSED("path is NULL", mergedb_start_trace(db_, nullptr, nullptr, &error_));
  REFUSED("mergedb_trace_options: struct_size is 3", mergedb_start_trace(db_, path.c_str(), &small, &error_));
  REFUSED("record_values is 5", mergedb_start_trace(db_, path.c_str(), &values, &error_));
  REFUSED("bytes_max", mergedb_start_trace(db_, path.c_str(), &bytes, &error_));
  REFUSED("sampling", mergedb_start_trace(db_, path.c_str(), &sampling, &error_));
  EXPECT_TRUE(sim_.files->SizeOf(path).error().IsNotFound());
  mergedb_trace_report report = {};
  REFUSED("mergedb_trace_report: struct_size is 0", mergedb_end_trace(db_, &report, &error_));
}

// ---- verify and repair

TEST_F(CInterfaceRefusals, OptionsOfVerifyAndRepair) {
  using Look = std::function<mergedb_code(const char*, const mergedb_repair_options*, mergedb_report*)>;
  const std::vector<std::pair<const char*, Look>> looks = {
      {"verify",
       [&](auto* path, auto* options, auto* report) { return mergedb_verify(path, options, report, &error_); }},
      {"repair",
       [&](auto* path, auto* options, auto* report) { return mergedb_repair(path, options, report, &error_); }},
  };
  const std::string path = directory_ / "nothing";
  auto small = Sized<mergedb_repair_options>(), dry_run = small, reserved = small, open = small;
  small.struct_size = 3;
  dry_run.dry_run = 5;
  reserved.reserved = 5;
  auto bad_open = Sized<mergedb_options>();
  bad_open.mode = 99;
  open.options = &bad_open;
  const std::vector<std::pair<const mergedb_repair_options*, const char*>> mistakes = {
      {&small, "mergedb_repair_options: struct_size is 3"},
      {&dry_run, "dry_run is 5"},
      {&reserved, "reserved is 5"},
      {&open, "mode is 99"}};
  for (const auto& [name, look] : looks) {
    mergedb_report report = 9;
    for (const auto& [options, part] : mistakes)
      Expect(look(path.c_str(), options, &report), MERGEDB_INVALID_ARGUMENT, part, name);
    Expect(look(nullptr, nullptr, &report), MERGEDB_INVALID_ARGUMENT, "path is NULL", name);
    Expect(look(path.c_str(), nullptr, nullptr), MERGEDB_INVALID_ARGUMENT, "report is NULL", name);
    Expect(look(path.c_str(), nullptr, &report), MERGEDB_NOT_FOUND, "nothing", name);
    EXPECT_EQ(report, 0u);
  }
}

TEST_F(CInterfaceRefusals, WhatAReportDoesNotHave) {
  const std::string path = directory_ / "whole";
  mergedb_db whole = 0;
  ASSERT_EQ(mergedb_open(path.c_str(), nullptr, &whole, &error_), MERGEDB_OK);
  ASSERT_EQ(mergedb_close(whole, &error_), MERGEDB_OK);
  mergedb_report report = 0;
  ASSERT_EQ(mergedb_verify(path.c_str(), nullptr, &report, &error_), MERGEDB_OK) << error_.message;
  const char* text = "";
  auto damage = Sized<mergedb_damage>(), small_damage = damage;
  auto totals = Sized<mergedb_report_totals>(), small_totals = totals;
  small_damage.struct_size = 3;
  small_totals.struct_size = 3;
  REFUSED("text is NULL", mergedb_report_text(report, MERGEDB_DAMAGES, 0, nullptr, &error_));
  REFUSED("list is 4, expected 0 to 3", mergedb_report_text(report, 4, 0, &text, &error_));
  REFUSED("damage is NULL", mergedb_report_damage(report, MERGEDB_DAMAGES, 0, nullptr, &error_));
  REFUSED("mergedb_damage: struct_size is 3",
          mergedb_report_damage(report, MERGEDB_DAMAGES, 0, &small_damage, &error_));
  REFUSED("list is 2, expected 0 or 1", mergedb_report_damage(report, MERGEDB_ACTIONS, 0, &damage, &error_));
  REFUSED("totals is NULL", mergedb_report_count(report, nullptr, &error_));
  REFUSED("mergedb_report_totals: struct_size is 3", mergedb_report_count(report, &small_totals, &error_));
  FAILS(MERGEDB_NOT_FOUND, "", mergedb_report_text(report, MERGEDB_DAMAGES, 0, &text, &error_));
  FAILS(MERGEDB_NOT_FOUND, "", mergedb_report_damage(report, MERGEDB_DAMAGES, 0, &damage, &error_));
  FAILS(MERGEDB_NOT_FOUND, "", mergedb_report_damage(report, MERGEDB_LOSSES, 7, &damage, &error_));
  EXPECT_EQ(text, nullptr);
  EXPECT_EQ(damage.file, nullptr);
  EXPECT_EQ(mergedb_report_count(report, &totals, &error_), MERGEDB_OK);
  EXPECT_EQ(totals.damages, 0u);
  EXPECT_EQ(mergedb_report_close(report, &error_), MERGEDB_OK);
}

// ---- transactions

TEST_F(CInterfaceRefusals, KeyspacesThatATransactionCannotMakeOrFind) {
  Begin();
  mergedb_keyspace found = 9;
  REFUSED("\"made\" exists already",
          mergedb_transaction_keyspace_create(transaction_, "made", 4, MERGEDB_DEFAULT, &found, &error_));
  REFUSED("keyspace name of 0 bytes",
          mergedb_transaction_keyspace_create(transaction_, "", 0, MERGEDB_DEFAULT, &found, &error_));
  FAILS(MERGEDB_NOT_FOUND, "\"other\"", mergedb_transaction_keyspace_open(transaction_, "other", 5, &found, &error_));
  EXPECT_EQ(found, 0u);
  EXPECT_EQ(mergedb_transaction_keyspace_open(transaction_, "made", 4, &found, &error_), MERGEDB_OK);
  EXPECT_EQ(found, keyspace_);
}

TEST_F(CInterfaceRefusals, TransactionsThatHaveEnded) {
  Begin();
  mergedb_cursor cursor = 0;
  ASSERT_EQ(mergedb_cursor_open(transaction_, 0, &cursor, &error_), MERGEDB_OK);
  ASSERT_EQ(mergedb_transaction_rollback(transaction_, &error_), MERGEDB_OK);
  mergedb_keyspace_entry* entries = nullptr;
  mergedb_keyspace made = 0;
  size_t size = 0;
  FAILS(MERGEDB_ABORTED, "has ended", mergedb_transaction_put(transaction_, 0, "k", 1, "w", 1, &error_));
  FAILS(MERGEDB_ABORTED, "has ended", mergedb_transaction_keyspace_list(transaction_, &entries, &size, &error_));
  FAILS(MERGEDB_ABORTED, "has ended", mergedb_transaction_keyspace_open(transaction_, "made", 4, &made, &error_));
  FAILS(MERGEDB_ABORTED, "has ended",
        mergedb_transaction_keyspace_create(transaction_, "new", 3, MERGEDB_DEFAULT, &made, &error_));
  FAILS(MERGEDB_ABORTED, "has ended", mergedb_transaction_set_savepoint(transaction_, &error_));
  FAILS(MERGEDB_ABORTED, "has ended", mergedb_transaction_commit(transaction_, &error_));
  FAILS(MERGEDB_ABORTED, "has ended", mergedb_cursor_move(cursor, MERGEDB_TO_LAST, nullptr, 0, &error_));
  EXPECT_EQ(mergedb_cursor_close(cursor, &error_), MERGEDB_OK);
}

TEST_F(CInterfaceRefusals, ASecondSingleWriterOfOneThread) {
  Begin();
  mergedb_transaction second = 9;
  FAILS(MERGEDB_BUSY, "", mergedb_transaction_begin(db_, nullptr, &second, &error_));
  EXPECT_EQ(second, 0u);
}

// A merge operator that calls into the transaction that applies it, on a thread of its own.
struct Caller {
  std::function<mergedb_code(mergedb_error*)> call;
  mergedb_code code = MERGEDB_OK;
  std::string message;

  static void Apply(void* state, mergedb_slice, const mergedb_slice*, const mergedb_slice*, size_t,
                    mergedb_merge_result* result) {
    auto& self = *static_cast<Caller*>(state);
    std::thread([&self] {
      mergedb_error error = {};
      self.code = self.call(&error);
      self.message = error.message;
    }).join();
    mergedb_merge_result_set(result, "made", 4);
  }
};

class CInterfaceBusyTransaction : public ::testing::Test {
 protected:
  void SetUp() override {
    auto merging = Sized<mergedb_merge_operator>();
    merging.name = "caller";
    merging.apply = Caller::Apply;
    merging.state = &caller_;
    Options options = sim_.SmallOptions();
    options.merge_operators.push_back(NewForeignOperator(merging));
    db_ = HandleOf(std::move(DB::Open(options, testing::SimulatedEnv::kPath)).value());
    auto operand = Sized<mergedb_operand>();
    operand.type = MERGEDB_PROGRAM;
    operand.name = "caller";
    ASSERT_EQ(mergedb_transaction_begin(db_, nullptr, &transaction_, &error_), MERGEDB_OK);
    ASSERT_EQ(mergedb_transaction_merge(transaction_, 0, "k", 1, &operand, &error_), MERGEDB_OK) << error_.message;
    ASSERT_EQ(mergedb_cursor_open(transaction_, 0, &cursor_, &error_), MERGEDB_OK);
  }
  void TearDown() override {
    EXPECT_EQ(mergedb_cursor_close(cursor_, &error_), MERGEDB_OK);
    EXPECT_EQ(mergedb_transaction_close(transaction_, &error_), MERGEDB_OK);
    EXPECT_EQ(mergedb_close(db_, &error_), MERGEDB_OK);
  }
  void ExpectBusy() const {
    EXPECT_EQ(caller_.code, MERGEDB_BUSY);
    EXPECT_THAT(caller_.message, HasSubstr("another call on this transaction or one of its cursors"));
  }

  Caller caller_;
  testing::SimulatedEnv sim_;
  mergedb_error error_ = {};
  mergedb_db db_ = 0;
  mergedb_transaction transaction_ = 0;
  mergedb_cursor cursor_ = 0;
};

TEST_F(CInterfaceBusyTransaction, RefusesACallOfItsCursor) {
  caller_.call = [this](mergedb_error* error) {
    return mergedb_cursor_move(cursor_, MERGEDB_TO_FIRST, nullptr, 0, error);
  };
  void* value = nullptr;
  size_t size = 0;
  ASSERT_EQ(mergedb_transaction_get(transaction_, 0, "k", 1, &value, &size, &error_), MERGEDB_OK) << error_.message;
  EXPECT_EQ(std::string(static_cast<const char*>(value), size), "made");
  mergedb_free(value);
  ExpectBusy();
}

TEST_F(CInterfaceBusyTransaction, RefusesACallWhileItsCursorMoves) {
  caller_.call = [this](mergedb_error* error) {
    return mergedb_transaction_put(transaction_, 0, "k", 1, "w", 1, error);
  };
  ASSERT_EQ(mergedb_cursor_move(cursor_, MERGEDB_TO_FIRST, nullptr, 0, &error_), MERGEDB_OK) << error_.message;
  ExpectBusy();
  uint64_t writes = 0;
  EXPECT_EQ(mergedb_transaction_size(transaction_, nullptr, &writes, nullptr, &error_), MERGEDB_OK);
  EXPECT_EQ(writes, 1u);
}

TEST_F(CInterfaceBusyTransaction, RefusesANewCursorWhileAnotherMoves) {
  mergedb_cursor opened = 9;
  caller_.call = [&](mergedb_error* error) { return mergedb_cursor_open(transaction_, 0, &opened, error); };
  ASSERT_EQ(mergedb_cursor_move(cursor_, MERGEDB_TO_FIRST, nullptr, 0, &error_), MERGEDB_OK) << error_.message;
  ExpectBusy();
  EXPECT_EQ(opened, 0u);
}

// ---- handles

struct HandleCall {
  const char* kind;
  const char* name;
  std::function<mergedb_code(uint64_t handle, mergedb_error* error)> call;
};
#define CALL(kind, function, ...)                                                                           \
  HandleCall {                                                                                              \
    kind, #function, [](uint64_t h, mergedb_error* e) { return function(h __VA_OPT__(, ) __VA_ARGS__, e); } \
  }

std::vector<HandleCall> CallsOfDatabases() {
  constexpr const char* kKind = "database";
  return {
      CALL(kKind, mergedb_close),
      CALL(kKind, mergedb_put, nullptr, "k", 1, "v", 1),
      CALL(kKind, mergedb_delete, nullptr, "k", 1),
      CALL(kKind, mergedb_delete_range, nullptr, "a", 1, "z", 1),
      CALL(kKind, mergedb_delete_prefix, nullptr, "k", 1),
      CALL(kKind, mergedb_add_u64, nullptr, "k", 1, 1),
      CALL(kKind, mergedb_write, nullptr, 0),
      CALL(kKind, mergedb_get, nullptr, "k", 1, nullptr, nullptr),
      CALL(kKind, mergedb_get_into, nullptr, "k", 1, nullptr, 0, nullptr),
      CALL(kKind, mergedb_multi_get, nullptr, nullptr, 0, nullptr, nullptr, nullptr),
      CALL(kKind, mergedb_flush),
      CALL(kKind, mergedb_sync_wal),
      CALL(kKind, mergedb_compact_range, nullptr, nullptr),
      CALL(kKind, mergedb_wait),
      CALL(kKind, mergedb_approximate_sizes, nullptr, nullptr, 0, nullptr),
      CALL(kKind, mergedb_get_property, "mergedb.stats", nullptr),
      CALL(kKind, mergedb_metrics, nullptr, nullptr),
      CALL(kKind, mergedb_histograms, nullptr, nullptr),
      CALL(kKind, mergedb_check),
      CALL(kKind, mergedb_checkpoint, "/nowhere", nullptr, nullptr),
      CALL(kKind, mergedb_start_trace, "/nowhere", nullptr),
      CALL(kKind, mergedb_end_trace, nullptr),
      CALL(kKind, mergedb_snapshot_create, nullptr),
      CALL(kKind, mergedb_iterator_create, nullptr, nullptr),
      CALL(kKind, mergedb_transaction_begin, nullptr, nullptr),
      CALL(kKind, mergedb_keyspace_create, "n", 1, 0, nullptr),
      CALL(kKind, mergedb_keyspace_open, nullptr, "n", 1, nullptr),
      CALL(kKind, mergedb_keyspace_list, nullptr, nullptr, nullptr),
      CALL(kKind, mergedb_keyspace_drop, nullptr, 1),
      CALL(kKind, mergedb_keyspace_clear, nullptr, 1),
      CALL(kKind, mergedb_keyspace_compact, 1, nullptr, nullptr),
  };
}

std::vector<HandleCall> CallsOfTransactions() {
  constexpr const char* kKind = "transaction";
  return {
      CALL(kKind, mergedb_transaction_commit),
      CALL(kKind, mergedb_transaction_rollback),
      CALL(kKind, mergedb_transaction_close),
      CALL(kKind, mergedb_transaction_get, 0, "k", 1, nullptr, nullptr),
      CALL(kKind, mergedb_transaction_put, 0, "k", 1, "v", 1),
      CALL(kKind, mergedb_transaction_delete, 0, "k", 1),
      CALL(kKind, mergedb_transaction_delete_range, 0, "a", 1, "z", 1),
      CALL(kKind, mergedb_transaction_merge, 0, "k", 1, nullptr),
      CALL(kKind, mergedb_transaction_set_savepoint),
      CALL(kKind, mergedb_transaction_rollback_to_savepoint),
      CALL(kKind, mergedb_transaction_release_savepoint),
      CALL(kKind, mergedb_transaction_conflict, nullptr, nullptr, nullptr),
      CALL(kKind, mergedb_transaction_size, nullptr, nullptr, nullptr),
      CALL(kKind, mergedb_transaction_keyspace_create, "n", 1, 0, nullptr),
      CALL(kKind, mergedb_transaction_keyspace_open, "n", 1, nullptr),
      CALL(kKind, mergedb_transaction_keyspace_list, nullptr, nullptr),
      CALL(kKind, mergedb_transaction_keyspace_drop, 1),
      CALL(kKind, mergedb_transaction_keyspace_clear, 1),
      CALL(kKind, mergedb_cursor_open, 0, nullptr),
  };
}

std::vector<HandleCall> CallsOfOthers() {
  return {
      CALL("cursor", mergedb_cursor_move, MERGEDB_TO_FIRST, nullptr, 0),
      CALL("cursor", mergedb_cursor_entry, nullptr, nullptr),
      CALL("cursor", mergedb_cursor_put, "v", 1),
      CALL("cursor", mergedb_cursor_delete),
      CALL("cursor", mergedb_cursor_close),
      CALL("batch", mergedb_batch_put, "k", 1, "v", 1),
      CALL("batch", mergedb_batch_delete, "k", 1),
      CALL("batch", mergedb_batch_delete_range, "a", 1, "z", 1),
      CALL("batch", mergedb_batch_merge, "k", 1, nullptr),
      CALL("batch", mergedb_batch_append, 0),
      CALL("batch", mergedb_batch_set_keyspace, 1),
      CALL("batch", mergedb_batch_clear),
      CALL("batch", mergedb_batch_size, nullptr, nullptr),
      CALL("batch", mergedb_batch_close),
      CALL("snapshot", mergedb_snapshot_sequence, nullptr),
      CALL("snapshot", mergedb_snapshot_close),
      CALL("iterator", mergedb_iterator_seek_to_first),
      CALL("iterator", mergedb_iterator_seek_to_last),
      CALL("iterator", mergedb_iterator_seek, "k", 1),
      CALL("iterator", mergedb_iterator_seek_for_prev, "k", 1),
      CALL("iterator", mergedb_iterator_next),
      CALL("iterator", mergedb_iterator_prev),
      CALL("iterator", mergedb_iterator_entry, nullptr, nullptr),
      CALL("iterator", mergedb_iterator_failed_key, nullptr),
      CALL("iterator", mergedb_iterator_read, 0, nullptr, 0, nullptr, nullptr),
      CALL("iterator", mergedb_iterator_close),
      CALL("report", mergedb_report_text, MERGEDB_DAMAGES, 0, nullptr),
      CALL("report", mergedb_report_damage, MERGEDB_DAMAGES, 0, nullptr),
      CALL("report", mergedb_report_count, nullptr),
      CALL("report", mergedb_report_close),
  };
}

TEST_F(CInterfaceRefusals, HandlesThatAreClosedMadeUpOrOfAnotherKind) {
  mergedb_batch closed = 0;
  mergedb_snapshot snapshot = 0;
  ASSERT_EQ(mergedb_batch_create(&closed, &error_), MERGEDB_OK);
  ASSERT_EQ(mergedb_batch_close(closed, &error_), MERGEDB_OK);
  ASSERT_EQ(mergedb_snapshot_create(db_, &snapshot, &error_), MERGEDB_OK);
  const uint64_t not_of_its_kind[] = {db_, batch_, snapshot};
  std::vector<HandleCall> calls = CallsOfDatabases();
  for (const auto& more : {CallsOfTransactions(), CallsOfOthers()}) calls.insert(calls.end(), more.begin(), more.end());
  for (const auto& [kind, name, call] : calls) {
    const std::string part = "not the handle of an open " + std::string(kind);
    for (const uint64_t handle : {uint64_t{0}, uint64_t{7}, closed, UINT64_MAX})
      Expect(call(handle, &error_), MERGEDB_BAD_HANDLE, part, name);
    const char* const kinds[] = {"database", "batch", "snapshot"};
    for (size_t i = 0; i < 3; ++i) {
      if (kinds[i] != std::string_view(kind)) Expect(call(not_of_its_kind[i], &error_), MERGEDB_BAD_HANDLE, part, name);
    }
  }
  EXPECT_EQ(mergedb_snapshot_close(snapshot, &error_), MERGEDB_OK);
}

// The state between a close and the end of another thread's call.
TEST(CInterfaceClosing, SaysSoWhereADatabaseIsClosedUnderItsHandle) {
  testing::SimulatedEnv sim;
  auto owned = std::move(sim.Open()).value();
  DB& database = *owned;
  const mergedb_db db = HandleOf(std::move(owned));
  ASSERT_TRUE(database.Close().ok());
  mergedb_error error = {};
  mergedb_keyspace_entry* entries = nullptr;
  size_t count = 9;
  mergedb_keyspace found = 9;
  uint64_t handle = 9;
  EXPECT_EQ(mergedb_keyspace_list(db, nullptr, &entries, &count, &error), MERGEDB_SHUTTING_DOWN) << error.message;
  EXPECT_EQ(count, 0u);
  EXPECT_EQ(mergedb_keyspace_open(db, nullptr, "n", 1, &found, &error), MERGEDB_SHUTTING_DOWN);
  EXPECT_EQ(mergedb_keyspace_create(db, "n", 1, MERGEDB_DEFAULT, &found, &error), MERGEDB_SHUTTING_DOWN);
  EXPECT_EQ(mergedb_transaction_begin(db, nullptr, &handle, &error), MERGEDB_SHUTTING_DOWN);
  EXPECT_EQ(mergedb_iterator_create(db, nullptr, &handle, &error), MERGEDB_SHUTTING_DOWN);
  EXPECT_EQ(handle, 0u);
  EXPECT_EQ(mergedb_close(db, &error), MERGEDB_OK) << error.message;
}

// Symptom: mergedb_close never returns. Cause: it waits for the calls in progress, and one of them, a put, waits for
// the transaction of the thread that closes.
TEST(Close, EndsAPutThatWaitsForATransactionOfTheClosingThread) {
  const auto close_beside_a_put = []() -> std::string {
    testing::SimulatedEnv sim;
    const mergedb_db db = HandleOf(std::move(sim.Open()).value());
    mergedb_transaction transaction = 0;
    if (mergedb_transaction_begin(db, nullptr, &transaction, nullptr) != MERGEDB_OK) return "begin";
    mergedb_code code = MERGEDB_OK, begun = MERGEDB_OK;
    testing::WaitingThread writer([&] { code = mergedb_put(db, nullptr, "a", 1, "b", 1, nullptr); });
    testing::WaitingThread beginner([&] {
      mergedb_transaction second = 0;
      begun = mergedb_transaction_begin(db, nullptr, &second, nullptr);
    });
    const mergedb_code closed = mergedb_close(db, nullptr);
    writer.join();
    beginner.join();
    mergedb_error error{};
    const mergedb_code committed = mergedb_transaction_commit(transaction, &error);
    (void)mergedb_transaction_close(transaction, nullptr);
    return std::string(mergedb_code_name(closed)) + " " + mergedb_code_name(code) + " " + mergedb_code_name(begun) +
           " " + mergedb_code_name(committed);
  };
  const testing::Outcome outcome = testing::RunApart(close_beside_a_put, {.seconds = 3});
  EXPECT_EQ(outcome.trouble, "");
  EXPECT_EQ(outcome.answer, "OK ShuttingDown ShuttingDown ShuttingDown");
}

}  // namespace
}  // namespace mergedb::c
