#include <algorithm>
#include <optional>

#include "mergedb/repair.h"
#include "torture.h"

namespace mergedb::tool::torture {
namespace {

// Of one write: all of its keys, none, or something else.
enum class Presence { kWhole, kAbsent, kTorn };

class Checker {
 public:
  Checker(DB& db, const Marks& marks) : db_(db), marks_(marks) {}
  Result<Kept> Check(Kind kind, uint64_t owed);

 private:
  Result<Presence> Look(Kind kind, uint64_t number);

  DB& db_;
  const Marks& marks_;
};

Result<Presence> Checker::Look(Kind kind, uint64_t number) {
  size_t right = 0, absent = 0;
  for (size_t i = 0; i < kKeysOfAWrite; ++i) {
    const std::string key = KeyOf(kind, number, i);
    std::string value;
    const Status status = db_.Get({}, key, &value);
    if (!status.ok() && !status.IsNotFound()) return status;
    absent += status.IsNotFound();
    right += status.ok() && value == ContentOf(marks_.id, key, number, number * 37 % 2000);
  }
  return right == kKeysOfAWrite ? Presence::kWhole : absent == kKeysOfAWrite ? Presence::kAbsent : Presence::kTorn;
}

// The writes up to `owed` must be there. Of the later ones, each is whole or absent; none is there behind an absent
// one.
Result<Kept> Checker::Check(Kind kind, uint64_t owed) {
  Kept kept{.kind = kind, .acknowledged = marks_.Last(kind)};
  const auto name = [&](uint64_t number) { return KeyOf(kind, number, 0); };
  const auto tell = [&](const std::string& what) {
    if (kept.first.empty()) kept.first = what;
  };
  uint64_t absent = 0;
  // One more than was acknowledged may be there.
  for (uint64_t number = 1; number <= marks_.Last(kind) + 1; ++number) {
    ASSIGN_OR_RETURN(const Presence presence, Look(kind, number));
    if (presence == Presence::kTorn) tell(name(number) + ": only a part of the write is there, or another value");
    if (presence == Presence::kAbsent && number <= owed) {
      ++kept.missing;
      tell(name(number) + ": the write was acknowledged and is gone");
    }
    if (presence == Presence::kWhole && absent > 0 && kind != Kind::kFlushed)
      tell(name(number) + ": is there, but not write " + std::to_string(absent) + " before it");
    if (presence == Presence::kAbsent && absent == 0) absent = number;
  }
  return kept;
}

// The last unsynced write that returned so long before the last mark that it must be durable. WHY twice the interval:
// the marks are seen when they are printed, and a sync takes its time.
uint64_t OwedUnsynced(const Marks& marks) {
  uint64_t owed = 0;
  for (const Marks::Mark& mark : marks.of[static_cast<size_t>(Kind::kUnsynced)])
    if (mark.milliseconds + 2 * kSyncMilliseconds < marks.last_milliseconds) owed = mark.number;
  return owed;
}

}  // namespace

bool Report::is_kept() const {
  return problems.empty() && std::ranges::all_of(kept, [](const Kept& each) { return each.is_kept(); });
}

Result<Report> Check(const std::string& device, const Marks& marks) {
  Report report{.kept = CheckPlainFiles(PlainOf(device), marks), .problems = {}};
  const std::string path = DatabaseOf(device);
  const auto verified = mergedb::Verify(DatabaseOptions(), path);
  if (!verified && verified.error().IsBusy()) return verified.error();
  if (!verified) report.problems.push_back(verified.error().ToString());
  for (size_t i = 0; verified && i < verified->damages.size(); ++i)
    report.problems.push_back(ToText(verified->damages[i]));
  Options options = DatabaseOptions();
  options.mode = OpenMode::kReadOnly;
  auto db = DB::Open(options, path);
  if (!db) {
    report.problems.push_back(db.status().ToString());
    return report;
  }
  Checker checker(**db, marks);
  for (const auto& [kind, owed] :
       {std::pair(Kind::kSynced, marks.Last(Kind::kSynced)), std::pair(Kind::kFlushed, marks.Last(Kind::kFlushed)),
        std::pair(Kind::kUnsynced, OwedUnsynced(marks))}) {
    auto kept = checker.Check(kind, owed);
    if (!kept) report.problems.push_back(kept.status().ToString());
    if (kept) report.kept.push_back(*kept);
  }
  RETURN_IF_ERROR((*db)->Close());
  return report;
}

}  // namespace mergedb::tool::torture
