// A model of the handles of the C interface, for testing/paths.h: the code and the value that each call returns, in
// each state. It is plain data, and slow and simple, so that a reader can check it against include/mergedb/c.h.
//
//     Model model(Topic::kCursors);
//     for (const Call& call : model.Calls()) ...       the calls that this topic tries in this state
//     model.Do(call);                                  "OK a=0", "BadHandle", ...
//
// A topic is a part of the calls, with the calls before each of its paths. All topics share the states and answers.
// A call that would wait for another thread is not tried (MayRun).
#pragma once

#include <array>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/paths/handle_calls.h"

namespace mergedb::testing::handles {

enum class Topic : uint8_t { kReads, kBatches, kTransactions, kCursors, kThreads, kKinds };

inline constexpr uint8_t kUnmadeId = 255;
inline constexpr int8_t kVariables = 2;  // of each kind

// A key of a keyspace; keyspaces are numbered in the order of their creation, 0 is the default one.
using Place = std::pair<uint8_t, char>;
using Contents = std::map<Place, char>;

enum class State : uint8_t { kNever, kOpen, kClosed };

// One open of a database: a snapshot is of this open, and not of the next one of the same directory.
struct Opening {
  int8_t database = kNone;
  uint8_t number = 0;
  bool operator==(const Opening&) const = default;
};

struct Database {
  State state = State::kOpen;
  uint8_t openings = 1;
  Contents contents;
  uint8_t live = 0;   // the keyspace "x"; 0: there is none
  uint8_t made = 0;   // so many keyspaces were created
  uint8_t named = 0;  // what the program's variable `x` names; 0: it was never set
};

struct Snapshot {
  State state = State::kNever;
  Opening of;
  Contents contents;
  uint8_t live = 0;
};

struct Iterator {
  State state = State::kNever;
  Opening of;
  std::map<char, char> shown;
  char at = 0;  // 0: at no key
};

struct Batch {
  State state = State::kNever;
  std::vector<uint8_t> puts;  // the keyspaces of its puts
};

enum class TransactionKind : uint8_t { kSingleWriter, kOptimistic, kReadOnly };

struct Transaction {
  struct Write {
    Place place;
    char value = 0;  // 0: a delete
  };
  State state = State::kNever;
  Opening of;
  TransactionKind kind{};
  uint8_t serial = 0;  // its cursors know it by this number
  bool has_ended = false;
  bool has_conflict = false;
  bool from_second_thread = false;  // its last call
  Contents base;
  std::vector<Write> writes;
  std::vector<size_t> savepoints;  // each: so many writes were before it
  std::set<Place> reads;           // optimistic
  std::set<Place> written;         // by others since it began

  Contents Seen() const {
    Contents seen = base;
    for (const Write& write : writes) {
      if (write.value != 0) {
        seen[write.place] = write.value;
      } else {
        seen.erase(write.place);
      }
    }
    return seen;
  }
};

struct Cursor {
  enum class Stands : uint8_t { kFresh, kAtKey, kAtEnd };
  enum class Shows : uint8_t { kNothing, kEntry, kUnspecified };  // c.h: views end with a write of the transaction
  State state = State::kNever;
  int8_t transaction = kNone;
  uint8_t serial = 0;
  bool is_detached = false;  // its transaction has ended
  uint8_t keyspace = 0;
  Stands stands = Stands::kFresh;
  Shows shows = Shows::kNothing;
  char key = 0;  // kAtKey: the key, which may be deleted by now
};

// What a second thread is inside of.
struct Entered {
  char kind = 0;  // 0: nothing
  int8_t number = kNone;
  bool operator==(const Entered&) const = default;
};

class Model {
 public:
  using Call = handles::Call;

  explicit Model(Topic topic);
  std::vector<Call> Calls() const;
  std::string Do(const Call& call);
  std::string Key() const;
  static std::string TextOf(const Call& call) { return ToText(call); }

  // The calls that precede each path of a topic.
  static std::vector<Call> Before(Topic topic);
  // False for a call that would wait for another thread, or whose answer c.h leaves open.
  bool MayRun(const Call& call) const;

 private:
  friend class CallList;

  std::string DoDatabase(const Call& call);
  std::string DoKeyspace(const Call& call);
  std::string DoSnapshot(const Call& call);
  std::string DoIterator(const Call& call);
  std::string MoveIterator(Iterator& iterator, Op op);
  std::string DoBatch(const Call& call);
  std::string DoTransaction(const Call& call);
  std::string DoOpenTransaction(const Call& call, Transaction& transaction);
  std::string Begin(const Call& call, TransactionKind kind);
  std::string Commit(int8_t number);
  std::string DoCursor(const Call& call);
  std::string MoveCursor(const Call& call, Cursor& cursor);
  std::string ChangeAtCursor(const Call& call, Cursor& cursor);
  std::string DoSecondThread(const Call& call);

  bool IsOpen(Opening of) const;
  Opening OpeningOf(int8_t database) const { return {database, databases_[database].openings}; }
  uint8_t KeyspaceOf(int8_t database, Space space) const;
  int32_t CheckSnapshot(int8_t snapshot, int8_t database) const;
  State StateOf(char kind, int8_t number) const;
  // The single-writer transaction that is open in a database, or null.
  const Transaction* WriterOf(int8_t database) const;
  int32_t CheckWrite(int8_t database, const std::vector<uint8_t>& keyspaces, const Transaction* by = nullptr) const;
  void Apply(int8_t database, const std::vector<Transaction::Write>& writes, int8_t by = kNone);
  bool IsInUse(uint8_t serial) const;
  int32_t CheckReadable(Transaction& transaction, uint8_t keyspace);
  int32_t CheckWritable(Transaction& transaction, uint8_t keyspace);
  void Write(Transaction& transaction, Place place, char value);
  void End(Transaction& transaction);
  void HideEntries(uint8_t serial);
  bool WaitsForWriter(const Call& call) const;
  bool WaitsForUser(const Call& call) const;

  Topic topic_;
  bool from_second_thread_ = false;  // the present call
  uint8_t serials_ = 0;
  std::array<Database, kVariables> databases_;
  std::array<Snapshot, kVariables> snapshots_;
  std::array<Iterator, kVariables> iterators_;
  std::array<Batch, kVariables> batches_;
  std::array<Transaction, kVariables> transactions_;
  std::array<Cursor, kVariables> cursors_;
  Entered entered_;
};

}  // namespace mergedb::testing::handles
