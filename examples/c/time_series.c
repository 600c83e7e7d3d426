/* Measurements by sensor and minute, with sums of each hour, range queries and a retention: time_series DIR
 * A sample and its share of the hour's sums are one atomic batch. The sums are merges, so a write reads nothing. */
#include "text.h"

static mergedb_db db;
static mergedb_keyspace samples, hours;
typedef struct {
  char text[64]; /* numbers have a fixed width, so that the order of the keys is the order of time */
} series_key;

static series_key key(const char* sensor, int time, const char* suffix) {
  series_key made;
  snprintf(made.text, sizeof made.text, "%s/%010d%s", sensor, time, suffix);
  return made;
}

static void merge(mergedb_batch batch, series_key at, mergedb_operand operand) {
  operand.struct_size = sizeof operand;
  check(mergedb_batch_merge(batch, at.text, strlen(at.text), &operand, &error));
}

static void record(const char* sensor, int minute, double value) {
  const series_key sample = key(sensor, minute, "");
  mergedb_batch batch = 0;
  check(mergedb_batch_create(&batch, &error));
  check(mergedb_batch_set_keyspace(batch, samples, &error));
  check(mergedb_batch_put(batch, sample.text, strlen(sample.text), &value, sizeof value, &error));
  check(mergedb_batch_set_keyspace(batch, hours, &error));
  merge(batch, key(sensor, minute / 60, "/count"), (mergedb_operand){.type = MERGEDB_ADD_U64, .u64 = 1});
  merge(batch, key(sensor, minute / 60, "/max"), (mergedb_operand){.type = MERGEDB_MAX_F64, .f64 = value});
  merge(batch, key(sensor, minute / 60, "/sum"), (mergedb_operand){.type = MERGEDB_ADD_F64, .f64 = value});
  check(mergedb_write(db, NULL, batch, &error));
  check(mergedb_batch_close(batch, &error));
}

static void read_hour(series_key at, void* number) { /* numbers have 8 bytes, little-endian as this machine */
  mergedb_read_options in_hours = {.struct_size = sizeof in_hours, .keyspace = hours};
  size_t size = 0;
  check(mergedb_get_into(db, &in_hours, at.text, strlen(at.text), number, 8, &size, &error));
}

static void print_hour(const char* sensor, int hour) {
  double max, sum;
  uint64_t count;
  read_hour(key(sensor, hour, "/count"), &count);
  read_hour(key(sensor, hour, "/max"), &max);
  read_hour(key(sensor, hour, "/sum"), &sum);
  printf("%s, hour %d: %d samples, mean %.2f, max %.1f\n", sensor, hour, (int)count, sum / (double)count, max);
}

/* The samples of [begin, end). */
static void print_range(const char* sensor, int begin, int end) {
  const series_key from = key(sensor, begin, ""), to = key(sensor, end, "");
  const mergedb_slice lower = {from.text, strlen(from.text)}, upper = {to.text, strlen(to.text)};
  mergedb_iterator_options range = {.struct_size = sizeof range, .lower = &lower, .upper = &upper, .keyspace = samples};
  mergedb_iterator it = 0;
  int count = 0;
  check(mergedb_iterator_create(db, &range, &it, &error));
  double lowest = 0, value;
  for (int at = there(mergedb_iterator_seek_to_first(it, &error)); at; at = there(mergedb_iterator_next(it, &error))) {
    mergedb_slice bytes;
    check(mergedb_iterator_entry(it, NULL, &bytes, &error));
    memcpy(&value, bytes.data, sizeof value);
    if (count++ == 0 || value < lowest) lowest = value;
  }
  check(mergedb_iterator_close(it, &error));
  printf("%s, minutes %d to %d: %d samples, min %.1f\n", sensor, begin, end, count, lowest);
}

static void print_last(const char* sensor) {
  mergedb_iterator it = iterate(db, samples, sensor);
  mergedb_slice name, bytes;
  double value;
  check(mergedb_iterator_seek_to_last(it, &error)); /* NOT_FOUND: there is no sample */
  check(mergedb_iterator_entry(it, &name, &bytes, &error));
  memcpy(&value, bytes.data, sizeof value);
  printf("last: %.*s %.1f\n", (int)name.size, (const char*)name.data, value);
  check(mergedb_iterator_close(it, &error));
}

int main(int argc, char** argv) {
  db = open_database(argc, argv);
  samples = keyspace(db, "samples"), hours = keyspace(db, "hours");
  for (int minute = 0; minute < 1440; ++minute) {
    record("kitchen", minute, 20 + minute * 7 % 50 / 10.0);
    record("outside", minute, 5 + minute * 3 % 80 / 10.0);
  }
  print_hour("kitchen", 13);
  print_range("outside", 600, 660);
  print_last("kitchen/");
  /* The retention: samples older than minute 720 go, by one write. The sums of the hours stay. */
  const series_key to = key("outside", 720, "");
  mergedb_write_options in_samples = {.struct_size = sizeof in_samples, .keyspace = samples};
  check(mergedb_delete_range(db, &in_samples, "outside/", 8, to.text, strlen(to.text), &error));
  print_range("outside", 700, 730);
  print_hour("outside", 0);
  check(mergedb_close(db, &error));
  return 0;
}
