// Precompiled header: the headers that most tests include. Each test still includes the headers that it uses; this
// file only makes these includes cheap (CMakeLists.txt).
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "mergedb/db.h"
#include "mergedb/merge.h"
#include "mergedb/transaction.h"
