// Goal: a pinned value lives until its last reader unpins it, and not longer. A reader never gets a value that
// was replaced before the reader came.
// Method: values that record whether they are alive, replaced while pinned: in one thread, then by several
// threads under several readers.
#include "base/current.h"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace mergedb::base {
namespace {

struct Alive {
  static constexpr uint64_t kAlive = 0x600d600d600d600d;

  Alive(uint64_t given, std::atomic<int64_t>* counter) : number(given), count(counter) { count->fetch_add(1); }
  ~Alive() {
    mark = 0;
    count->fetch_sub(1);
  }

  uint64_t mark = kAlive;
  const uint64_t number;
  std::atomic<int64_t>* const count;
};

class CurrentTest : public ::testing::Test {
 protected:
  void Install(uint64_t number) { current_.Install(std::make_shared<const Alive>(number, &alive_)); }

  std::atomic<int64_t> alive_{0};
  Current<Alive> current_;
};

TEST_F(CurrentTest, ShowsWhatWasInstalledLast) {
  EXPECT_EQ(current_.Share(), nullptr);
  Install(1);
  EXPECT_EQ(current_.Pinned()->number, 1u);
  EXPECT_EQ(current_.Share()->number, 1u);
  Install(2);
  EXPECT_EQ(current_.Pinned()->number, 2u);
  EXPECT_EQ((*current_.Pinned()).number, 2u);
  EXPECT_EQ(alive_, 1);
}

TEST_F(CurrentTest, GivesBackTheOneBefore) {
  Install(1);
  const auto before = current_.Install(std::make_shared<const Alive>(2, &alive_));
  ASSERT_NE(before, nullptr);
  EXPECT_EQ(before->number, 1u);
  EXPECT_EQ(before.use_count(), 1);
}

TEST_F(CurrentTest, APinKeepsWhatIsReplacedAndItsEndFreesIt) {
  Install(1);
  {
    const auto pin = current_.Pinned();
    Install(2);
    Install(3);
    EXPECT_EQ(pin->mark, Alive::kAlive);
    EXPECT_EQ(pin->number, 1u);
    EXPECT_EQ(current_.Pinned()->number, 3u);
    EXPECT_EQ(alive_, 2);  // no pin held 2
  }
  EXPECT_EQ(alive_, 1);
}

// A reader that is interrupted after it reads the current value and before it writes its note.
TEST_F(CurrentTest, WhatWasReplacedSinceItWasSeenIsNotPinned) {
  Install(1);
  const Alive* const seen = current_.Share().get();
  EXPECT_TRUE(current_.TEST_CanPin(seen));
  Install(2);
  EXPECT_EQ(alive_, 1);
  EXPECT_FALSE(current_.TEST_CanPin(seen));
  EXPECT_EQ(current_.Pinned()->number, 2u);  // the slot is free again
  Install(3);
  EXPECT_EQ(alive_, 1);
}

TEST_F(CurrentTest, PinsOfOneThreadNestDeeperThanThereAreSlots) {
  std::vector<Current<Alive>::Pin> pins;
  for (uint64_t number = 1; number <= 100; ++number) {
    Install(number);
    pins.push_back(current_.Pinned());
  }
  EXPECT_EQ(alive_, 100);
  for (uint64_t number = 1; number <= 100; ++number) {
    EXPECT_EQ(pins[number - 1]->mark, Alive::kAlive);
    EXPECT_EQ(pins[number - 1]->number, number);
  }
  pins.clear();
  EXPECT_EQ(alive_, 1);
}

TEST_F(CurrentTest, APinMovesToAnotherThread) {
  Install(1);
  std::optional<Current<Alive>::Pin> pin(current_.Pinned());
  std::thread other([moved = std::move(*pin), this] {
    Install(2);
    EXPECT_EQ(moved->number, 1u);
  });
  pin.reset();
  other.join();
  EXPECT_EQ(alive_, 1);
}

TEST_F(CurrentTest, EachOfManyReadersKeepsItsOwn) {
  Install(1);
  auto first = std::make_unique<Current<Alive>::Pin>(current_.Pinned());
  auto second = std::make_unique<Current<Alive>::Pin>(current_.Pinned());
  Install(2);
  first = nullptr;
  EXPECT_EQ(alive_, 2);
  EXPECT_EQ((*second)->mark, Alive::kAlive);
  second = nullptr;
  EXPECT_EQ(alive_, 1);
}

// There are more readers than kTries, so some of them meet taken slots. Destroyed values stay allocated until
// the end. If their memory were used again, a reader with a destroyed value could find a live one there.
TEST_F(CurrentTest, ReadersAndInstallersRace) {
  constexpr uint64_t kReaders = 6;
  constexpr uint64_t kInstalls = 50'000;
  struct Value {
    std::atomic<bool> is_dead{false};
    uint64_t number = 0;
  };
  std::vector<Value> values(kInstalls + 1);
  Current<Value> current;
  Mutex mutex;  // values are installed in the order of their numbers
  uint64_t next = 0;
  std::atomic<uint64_t> dead{0};
  const auto install = [&] {
    Lock lock(mutex);
    if (next > kInstalls) return false;
    values[next].number = next;
    const Current<Value>::Pointer value(&values[next++], [&dead](const Value* last) {
      const_cast<Value*>(last)->is_dead = true;
      dead.fetch_add(1);
    });
    const auto before = current.Install(value);
    lock.Unlock();
    return true;
  };
  install();

  std::atomic<bool> is_done{false};
  std::atomic<uint64_t> bad{0};
  std::vector<std::thread> readers;
  for (uint64_t i = 0; i < kReaders; ++i) {
    readers.emplace_back([&] {
      uint64_t newest = 0;
      while (!is_done) {
        const auto pin = current.Pinned();
        if (pin->number < newest || pin->is_dead) bad.fetch_add(1);
        newest = pin->number;
        const auto nested = current.Pinned();
        if (nested->number < newest || nested->is_dead || pin->is_dead) bad.fetch_add(1);
      }
    });
  }
  std::vector<std::thread> installers;
  for (int i = 0; i < 2; ++i) {
    installers.emplace_back([&] {
      while (install()) {}
    });
  }
  for (auto& installer : installers) installer.join();
  is_done = true;
  for (auto& reader : readers) reader.join();
  EXPECT_EQ(bad, 0u);
  EXPECT_EQ(current.Pinned()->number, kInstalls);
  EXPECT_EQ(dead, kInstalls);  // all but the last
}

}  // namespace
}  // namespace mergedb::base
