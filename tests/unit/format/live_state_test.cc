// Goal: the file LIVE gives back the state that was published, the newest whole one of its two slots, and any other
// bytes are an error. Method: a golden, round trips, damaged and future bytes.
#include "format/live_state.h"

#include <gtest/gtest.h>

#include "base/coding.h"
#include "base/crc32c.h"

namespace mergedb::format::live_state_test {
namespace {

using namespace std::string_literals;

LiveState Example() {
  LiveState state;
  state.update = 7;
  state.process = {.pid = 300, .pid_namespace = 4, .start_ticks = 5, .boot_id = "boot"};
  state.times = {
      .opened_unix_micros = 1, .updated_unix_micros = 2, .updated_boot_nanos = 3, .period_nanos = 4, .window_nanos = 5};
  state.metrics = {
      {.kind = LiveKind::kCounter, .name = "writes", .unit = "count", .value = 9, .value_before = 4, .buckets = {}},
      {.kind = LiveKind::kHistogram,
       .name = "get_nanos",
       .unit = "nanoseconds",
       .value = 100,
       .value_before = 60,
       .buckets = {{.upper = 16, .count = 3, .count_before = 1}, {.upper = 1024, .count = 2, .count_before = 0}}}};
  state.compactions = {{.reason = "space",
                        .runs = 3,
                        .level = 2,
                        .input_bytes = 100,
                        .written_bytes = 50,
                        .age_nanos = 6,
                        .entries = 10,
                        .entries_read = 5}};
  state.texts = {{"error", "none"}};
  state.heat = {{.from = "", .reads = 64, .writes = 0}, {.from = "k\x01", .reads = 0, .writes = 128}};
  state.heat_ages = {.reads_nanos = 7, .writes_nanos = 8};
  state.runs = {{.position = 8, .level = 1, .tables = 2, .bytes = 3, .value_bytes = 4, .entries = 5, .tombstones = 6}};
  return state;
}

// A head of the current version around the payload.
std::string SlotOf(const std::string& payload, uint32_t version = 1) {
  std::string slot(32, '\0');
  "mrgdLIVE"s.copy(slot.data(), 8);
  base::StoreFixed32(&slot[8], version);
  base::StoreFixed32(&slot[12], static_cast<uint32_t>(payload.size()));
  const uint32_t crc = base::Crc32cExtend(base::Crc32c(slot.substr(0, 24)), payload.data(), payload.size());
  base::StoreFixed32(&slot[24], crc);
  return slot + payload;
}

// FORMAT golden: docs/formats/live.md
TEST(LiveState, Golden) {
  LiveState state;
  state.update = 1;
  state.process = {.pid = 300, .pid_namespace = 4, .start_ticks = 5, .boot_id = "b"};
  state.metrics = {
      {.kind = LiveKind::kCounter, .name = "writes", .unit = "count", .value = 9, .value_before = 4, .buckets = {}}};
  const std::string slot = EncodeLiveSlot(state);
  EXPECT_EQ(slot.substr(0, 24), "mrgdLIVE\x01\0\0\0\x21\0\0\0\x01\0\0\0\0\0\0\0"s);
  EXPECT_EQ(slot.substr(32),
            "\x01\x06\xac\x02\x04\x05\x01"
            "b"
            "\x02\x05\0\0\0\0\0"
            "\x03\x10\x01\x06writes\x05"
            "count\x09\x04"s);
}

TEST(LiveState, ComesBack) {
  const LiveState state = Example();
  const std::string slot = EncodeLiveSlot(state);
  EXPECT_EQ(*DecodeLiveSlot(slot), state);
  EXPECT_EQ(*DecodeLiveSlot(slot + "what an earlier update left"), state);
  EXPECT_EQ(state.Value("writes"), 9u);
  EXPECT_EQ(state.Growth("writes"), 5u);
  EXPECT_EQ(state.Value("absent"), 0u);
  EXPECT_EQ(state.Text("error"), "none");
}

// FORMAT golden: docs/formats/live.md
TEST(LiveState, GoldenOfHeat) {
  LiveState state;
  state.heat = {{.from = "", .reads = 1, .writes = 2}, {.from = "k", .reads = 300, .writes = 0}};
  state.heat_ages = {.reads_nanos = 5, .writes_nanos = 6};
  const std::string slot = EncodeLiveSlot(state);
  EXPECT_NE(slot.find("\x08\x02\x05\x06"
                      "\x07\x03\0\x01\x02"
                      "\x07\x05\x01"
                      "k\xac\x02\0"s),
            std::string::npos);
}

TEST(LiveState, ACounterThatBeganAgainGrewFromZero) {
  LiveState state = Example();
  state.metrics[0].value = 3;
  EXPECT_EQ(state.Growth("writes"), 3u);
}

TEST(LiveState, TheNewestWholeSlotCounts) {
  LiveState older = Example(), newer = Example();
  newer.update = 8;
  const auto file = [](std::string first, const std::string& second) {
    first.resize(kLiveSlotBytes);
    return first + second;
  };
  const std::string old_slot = EncodeLiveSlot(older), new_slot = EncodeLiveSlot(newer);
  EXPECT_EQ(*DecodeLiveFile(file(new_slot, old_slot)), newer);
  EXPECT_EQ(*DecodeLiveFile(file(old_slot, new_slot)), newer);
  std::string torn = new_slot;
  torn[40] ^= 1;
  EXPECT_EQ(*DecodeLiveFile(file(torn, old_slot)), older) << "a kill in the middle of an update";
  EXPECT_EQ(*DecodeLiveFile(file(old_slot, torn)), older);
  EXPECT_EQ(*DecodeLiveFile(old_slot), older) << "the file was cut";
  EXPECT_TRUE(DecodeLiveFile(file(torn, torn)).status().IsCorruption());
}

TEST(LiveState, DamageIsAnError) {
  const std::string slot = EncodeLiveSlot(Example());
  for (size_t i = 0; i < slot.size(); ++i) {
    if (i >= 28 && i < 32) continue;  // not used
    std::string damaged = slot;
    damaged[i] ^= 1;
    EXPECT_FALSE(DecodeLiveSlot(damaged)) << i;
  }
  for (size_t bytes = 0; bytes < slot.size(); ++bytes) EXPECT_FALSE(DecodeLiveSlot(slot.substr(0, bytes))) << bytes;
  EXPECT_TRUE(DecodeLiveFile("").status().IsCorruption());
  EXPECT_TRUE(DecodeLiveSlot(SlotOf("", 2)).status().IsNotSupported());
  EXPECT_TRUE(DecodeLiveSlot(SlotOf("\x03\x7f")).status().IsCorruption()) << "a length beyond the payload";
  EXPECT_TRUE(DecodeLiveSlot(SlotOf("\x03\x01\x01"s)).status().IsCorruption()) << "a metric that ends too early";
  EXPECT_TRUE(DecodeLiveSlot(SlotOf("\x03\x08\x03\x01x\0\0\0\xff\x7f"s)).status().IsCorruption()) << "too many buckets";
}

// Programs print these texts on terminals and as lines of Prometheus.
TEST(LiveState, HostileTextsAreDamage) {
  for (const std::string& text :
       {"\x1b[31mred"s, "x 1\nforged_total 666\n# "s, "\""s, "\x9b"s, "\xe2\x80\xae"s, "\0"s}) {
    LiveState name = Example(), unit = Example(), reason = Example(), boot = Example(), of_text = Example();
    name.metrics[0].name = text;
    unit.metrics[1].unit = text + "\n";
    reason.compactions[0].reason = text + "\n";
    boot.process.boot_id = text + "\n";
    of_text.texts[0].name = text;
    for (const LiveState* state : {&name, &unit, &reason, &boot, &of_text})
      EXPECT_TRUE(DecodeLiveSlot(EncodeLiveSlot(*state)).status().IsCorruption()) << text;
  }
  LiveState empty = Example();
  empty.metrics[0].name = "";
  EXPECT_TRUE(DecodeLiveSlot(EncodeLiveSlot(empty)).status().IsCorruption());
}

TEST(LiveState, NewerFieldsAreSkipped) {
  EXPECT_EQ(*DecodeLiveSlot(SlotOf("\x64\x03new"s)), LiveState()) << "an unknown tag";
  EXPECT_EQ((*DecodeLiveSlot(SlotOf("\x05\x09\x01"
                                    "a\x01"
                                    "bmore."s)))
                .Text("a"),
            "b")
      << "a longer content";
  EXPECT_EQ((*DecodeLiveSlot(SlotOf("\x03\x06\x09\x01x\0\x05\x04"s))).Value("x"), 5u) << "an unknown kind of metric";
}

TEST(LiveState, WhatDoesNotFitIsLeftOut) {
  LiveState state = Example();
  state.runs.resize(100'000, state.runs.front());
  state.texts.push_back({"long", std::string(10'000, 'x')});
  const std::string slot = EncodeLiveSlot(state);
  EXPECT_LE(slot.size(), kLiveSlotBytes);
  const auto decoded = DecodeLiveSlot(slot);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->metrics, state.metrics);
  EXPECT_EQ(decoded->Text("long").size(), 512u);
  EXPECT_GT(decoded->runs.size(), 1'000u);
}

}  // namespace
}  // namespace mergedb::format::live_state_test
