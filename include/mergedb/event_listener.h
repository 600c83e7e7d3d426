// Events: what a database does, as it happens. A listener gets them as calls; the file LOG gets them as lines of JSON.
//
//     class Alarm : public mergedb::EventListener {
//       void OnEvent(const mergedb::Event& event) override {
//         if (event.kind == mergedb::EventKind::kBackgroundError) Page(event.text("status"));
//       }
//     };
//     options.listener = std::make_shared<Alarm>();
//
// docs/EVENTS.md lists all events with their fields.
//
// THREADS: one thread of the database calls OnEvent, for one event at a time, in the order of the events. It holds no
// lock of the database, and no other work waits for it. So a listener may take its time, and may call the database:
// reads, writes, properties, a checkpoint, even Close. If a listener is so slow that 4096 events wait, later events are
// dropped; the field "dropped_before" of the next event counts them. Close delivers the events that wait before it
// closes the database.
// ERRORS: an exception of a listener ends at the call. The database counts it in the field "thrown_before" of the next
// event, tells the logger, and goes on.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "mergedb/export.h"

namespace mergedb {

enum class EventKind : uint8_t {
  kOpen = 1,             // the database is open
  kRecovery = 2,         // an open replayed the WAL; says what it dropped
  kFlushBegin = 3,       // a memtable goes to a table
  kFlushEnd = 4,         // the table is visible, or the flush failed
  kCompactionBegin = 5,  // says why, and which runs the picker saw
  kCompactionEnd = 6,    // the compaction ended or failed
  kStallBegin = 7,       // writers begin to wait, or the write delay begins
  kStallEnd = 8,         // writers go on
  kError = 9,            // background work or the WAL failed
  kFileMade = 10,        // a table or blob file is finished
  kFileRemoved = 11,     // an obsolete table or blob file is gone, or becomes a recycled file
  kCheckpoint = 12,      // a checkpoint was made or failed
  kImport = 13,          // an open converted a LevelDB directory
  kSlowCall = 14,        // a call took longer than Options::slow_call_us
  kClose = 15,           // the database begins to close
};

struct EventField {
  std::string_view name;  // static text: lower-case letters, digits and "_"
  bool is_text = false;
  uint64_t number = 0;  // if it is no text
  std::string text = {};
};

struct MERGEDB_EXPORT Event {
  EventKind kind = EventKind::kOpen;
  uint64_t time_us = 0;  // microseconds since 1970
  std::vector<EventField> fields;

  std::string_view name() const;                        // "flush_begin", ...
  uint64_t number(std::string_view field) const;        // 0 if there is no such number
  std::string_view text(std::string_view field) const;  // "" if there is no such text
  // One line without a newline: {"time":"2026-11-26T04:05:06.000007Z","event":"flush_begin",...}. Bytes that are not
  // UTF-8 become U+FFFD.
  std::string ToJson() const;
};

class MERGEDB_EXPORT EventListener {
 public:
  virtual ~EventListener();
  virtual void OnEvent(const Event& event) = 0;
};

}  // namespace mergedb
