// What the C++ fragments of docs/api and of other pages use without declaring it (tests/docs/interfaces.py).
#pragma once
#include <mergedb/checkpoint.h>
#include <mergedb/db.h>
#include <mergedb/event_listener.h>
#include <mergedb/leveldb.h>
#include <mergedb/merge.h>
#include <mergedb/trace.h>
#include <mergedb/transaction.h>

#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>

namespace {

[[maybe_unused]] void Use(std::string_view, std::string_view) {}
[[maybe_unused]] void Report(std::string_view, const mergedb::Status&) {}
[[maybe_unused]] mergedb::Status Fail(const mergedb::Status& status) { return status; }
[[maybe_unused]] std::string Less(const std::string& balance) { return std::to_string(std::stoi(balance) - 1); }
[[maybe_unused]] bool Show(uint64_t, uint64_t) { return true; }
[[maybe_unused]] void Work(mergedb::DB& db) { (void)db.Put({}, "key", "value"); }

// What a fragment declares at its outermost level is checked at its end.
[[maybe_unused]] const mergedb::Status& StatusOf(const mergedb::Status& status) { return status; }
template <typename T>
mergedb::Status StatusOf(const mergedb::Result<T>& result) {
  return result ? mergedb::Status::Ok() : result.error();
}
template <typename T>
mergedb::Status StatusOf(const T&) {
  return mergedb::Status::Ok();
}

class Alarm : public mergedb::EventListener {
 public:
  void OnEvent(const mergedb::Event&) override {}
};

}  // namespace
