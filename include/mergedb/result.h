// A value, or the Status that says why there is no value. The names are those of std::expected.
#pragma once

#include <utility>
#include <variant>

#include "mergedb/status.h"

namespace mergedb {

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}       // NOLINT: implicit, as std::expected is
  Result(Status error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT. REQUIRES: !error.ok()

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  // REQUIRES: has_value()
  T& value() & { return *std::get_if<0>(&state_); }
  const T& value() const& { return *std::get_if<0>(&state_); }
  T&& value() && { return std::move(*std::get_if<0>(&state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  // REQUIRES: !has_value()
  const Status& error() const& { return *std::get_if<1>(&state_); }
  Status&& error() && { return std::move(*std::get_if<1>(&state_)); }

  // OK if there is a value, else the error.
  Status status() const { return has_value() ? Status() : error(); }

 private:
  std::variant<T, Status> state_;
};

}  // namespace mergedb
