// Measurements by sensor and minute, with sums of each hour, range queries and a retention: time_series DIR
// A sample and its share of the hour's sums are one atomic batch. The sums are merges, so a write reads nothing.
#include <mergedb/db.h>
#include <mergedb/merge.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <string>

using mergedb::DB;
using mergedb::Keyspace;
using mergedb::Status;
namespace merge = mergedb::merge;

namespace {

struct Series {
  std::unique_ptr<DB> db;
  Keyspace samples, hours;
};

// Numbers have a fixed width, so that the order of the keys is the order of time.
std::string Key(const std::string& sensor, int time) {
  char digits[16];
  std::snprintf(digits, sizeof digits, "/%010d", time);
  return sensor + digits;
}

Status Record(Series& series, const std::string& sensor, int minute, double value) {
  const std::string hour = Key(sensor, minute / 60);
  mergedb::WriteBatch batch;
  batch.Put(series.samples, Key(sensor, minute), merge::FromF64(value));
  batch.Merge(series.hours, hour + "/count", merge::AddU64(1));
  batch.Merge(series.hours, hour + "/max", merge::MaxF64(value));
  batch.Merge(series.hours, hour + "/sum", merge::AddF64(value));
  return series.db->Write({}, batch);
}

Status PrintHour(Series& series, const std::string& sensor, int hour) {
  std::string count, max, sum;
  RETURN_IF_ERROR(series.db->Get({}, series.hours, Key(sensor, hour) + "/count", &count));
  RETURN_IF_ERROR(series.db->Get({}, series.hours, Key(sensor, hour) + "/max", &max));
  RETURN_IF_ERROR(series.db->Get({}, series.hours, Key(sensor, hour) + "/sum", &sum));
  const uint64_t samples = *merge::ToU64(count);
  std::printf("%s, hour %d: %d samples, mean %.2f, max %.1f\n", sensor.c_str(), hour, static_cast<int>(samples),
              *merge::ToF64(sum) / static_cast<double>(samples), *merge::ToF64(max));
  return Status::Ok();
}

// The samples of [begin, end).
Status PrintRange(Series& series, const std::string& sensor, int begin, int end) {
  auto it =
      series.db->NewIterator({.lower = Key(sensor, begin), .upper = Key(sensor, end), .keyspace = series.samples});
  int count = 0;
  double lowest = 1e300;
  for (it->SeekToFirst(); it->Valid(); it->Next(), ++count) lowest = std::min(lowest, *merge::ToF64(it->value()));
  RETURN_IF_ERROR(it->status());
  std::printf("%s, minutes %d to %d: %d samples, min %.1f\n", sensor.c_str(), begin, end, count, lowest);
  return Status::Ok();
}

Status PrintLast(Series& series, const std::string& sensor) {
  auto it = series.db->NewIterator({.prefix = sensor + "/", .keyspace = series.samples});
  it->SeekToLast();
  if (!it->Valid()) return it->status().ok() ? Status::NotFound(sensor + " has no samples") : it->status();
  std::printf("last: %s %.1f\n", std::string(it->key()).c_str(), *merge::ToF64(it->value()));
  return Status::Ok();
}

Status Run(const std::string& directory) {
  Series series;
  ASSIGN_OR_RETURN(series.db, DB::Open({}, directory));
  ASSIGN_OR_RETURN(series.samples, series.db->CreateKeyspace("samples", {.may_exist = true}));
  ASSIGN_OR_RETURN(series.hours, series.db->CreateKeyspace("hours", {.may_exist = true}));
  for (int minute = 0; minute < 1440; ++minute) {
    RETURN_IF_ERROR(Record(series, "kitchen", minute, 20 + minute * 7 % 50 / 10.0));
    RETURN_IF_ERROR(Record(series, "outside", minute, 5 + minute * 3 % 80 / 10.0));
  }
  RETURN_IF_ERROR(PrintHour(series, "kitchen", 13));
  RETURN_IF_ERROR(PrintRange(series, "outside", 600, 660));
  RETURN_IF_ERROR(PrintLast(series, "kitchen"));
  // The retention: samples older than minute 720 go, by one write. The sums of the hours stay.
  RETURN_IF_ERROR(series.db->DeleteRange({}, series.samples, Key("outside", 0), Key("outside", 720)));
  RETURN_IF_ERROR(PrintRange(series, "outside", 700, 730));
  RETURN_IF_ERROR(PrintHour(series, "outside", 0));
  return series.db->Close();
}

}  // namespace

int main(int argc, char** argv) {
  Status status = argc == 2 ? Run(argv[1]) : Status::InvalidArgument("usage: time_series DIR");
  if (!status.ok()) std::cerr << status.ToString() << '\n';
  return status.ok() ? 0 : 1;
}
