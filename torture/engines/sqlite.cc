#include <sqlite3.h>
#include <sys/stat.h>

#include "torture/engine.h"

namespace mergedb::torture {
namespace {

class SqliteEngine final : public Engine {
 public:
  explicit SqliteEngine(bool use_wal) : use_wal_(use_wal) {}

  std::string Open(const std::string& directory) override {
    (void)mkdir(directory.c_str(), 0700);
    const std::string path = directory + "/data.sqlite";
    if (sqlite3_open(path.c_str(), &db_) != SQLITE_OK) return Error();
    if (std::string error = Run(use_wal_ ? "PRAGMA journal_mode=WAL" : "PRAGMA journal_mode=DELETE"); !error.empty())
      return error;
    for (const char* statement :
         {"PRAGMA synchronous=FULL", "PRAGMA wal_autocheckpoint=30",
          "CREATE TABLE IF NOT EXISTS pairs (key BLOB PRIMARY KEY, value BLOB) WITHOUT ROWID"}) {
      if (std::string error = Run(statement); !error.empty()) return error;
    }
    return {};
  }
  std::string Write(const Batch& batch) override {
    std::string error = Run("BEGIN IMMEDIATE");
    for (const auto& [key, value] : batch.changes) {
      if (error.empty()) error = Change(key, value);
    }
    if (error.empty()) error = Run("COMMIT");
    if (!error.empty()) (void)Run("ROLLBACK");
    return error;
  }
  std::string Scan(Pairs* found) override {
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(db_, "SELECT key, value FROM pairs", -1, &statement, nullptr) != SQLITE_OK) return Error();
    int code;
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) (*found)[Column(statement, 0)] = Column(statement, 1);
    const std::string error = code == SQLITE_DONE ? "" : Error();
    sqlite3_finalize(statement);
    return error;
  }
  std::string Get(const std::string& key, std::optional<std::string>* value) override {
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(db_, "SELECT value FROM pairs WHERE key=?", -1, &statement, nullptr) != SQLITE_OK)
      return Error();
    Bind(statement, 1, key);
    const int code = sqlite3_step(statement);
    if (code == SQLITE_ROW) *value = Column(statement, 0);
    const std::string error = code == SQLITE_ROW || code == SQLITE_DONE ? "" : Error();
    sqlite3_finalize(statement);
    return error;
  }
  std::string Close() override { return sqlite3_close(db_) == SQLITE_OK ? "" : Error(); }
  bool syncs_each_commit() const override { return true; }
  std::string version() const override { return sqlite3_libversion(); }

 private:
  std::string Error() const { return sqlite3_errmsg(db_); }
  std::string Run(const char* statement) {
    return sqlite3_exec(db_, statement, nullptr, nullptr, nullptr) == SQLITE_OK ? "" : Error();
  }
  static void Bind(sqlite3_stmt* statement, int index, const std::string& bytes) {
    sqlite3_bind_blob(statement, index, bytes.data(), static_cast<int>(bytes.size()), SQLITE_TRANSIENT);
  }
  static std::string Column(sqlite3_stmt* statement, int index) {
    const void* const bytes = sqlite3_column_blob(statement, index);
    const int size = sqlite3_column_bytes(statement, index);
    return bytes == nullptr ? std::string() : std::string(static_cast<const char*>(bytes), static_cast<size_t>(size));
  }
  std::string Change(const std::string& key, const std::optional<std::string>& value) {
    const char* const text = value ? "INSERT OR REPLACE INTO pairs VALUES (?, ?)" : "DELETE FROM pairs WHERE key=?";
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(db_, text, -1, &statement, nullptr) != SQLITE_OK) return Error();
    Bind(statement, 1, key);
    if (value) Bind(statement, 2, *value);
    const std::string error = sqlite3_step(statement) == SQLITE_DONE ? "" : Error();
    sqlite3_finalize(statement);
    return error;
  }

  const bool use_wal_;
  sqlite3* db_ = nullptr;
};

}  // namespace

std::unique_ptr<Engine> NewSqlite(bool use_wal) { return std::make_unique<SqliteEngine>(use_wal); }

}  // namespace mergedb::torture
