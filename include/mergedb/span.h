// A view of an array: a pointer and a number of elements. It does not own the elements.
//
// The public headers use it in place of std::span, which C++17 lacks (docs/decisions/0047-cxx17-headers.md).
// The members have the names of std::span. Arrays, vectors, std::span and, for Span<const T>, initializer
// lists convert to a Span. A Span converts to std::span.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <type_traits>
#include <utility>

namespace mergedb {

template <typename T>
class Span {
 public:
  using element_type = T;
  using value_type = std::remove_cv_t<T>;
  using iterator = T*;

  constexpr Span() = default;
  constexpr Span(T* data, size_t size) : data_(data), size_(size) {}
  template <size_t N>
  constexpr Span(T (&array)[N]) : Span(array, N) {}  // NOLINT: implicit, as std::span is
  // Any container whose data() is an array of T: std::vector, std::array, std::string, std::span.
  template <typename Container, typename Data = std::remove_pointer_t<decltype(std::declval<Container&>().data())>,
            typename = decltype(std::declval<Container&>().size()),
            typename = std::enable_if_t<std::is_convertible_v<Data (*)[], T (*)[]>>>
  constexpr Span(Container&& container) : Span(container.data(), container.size()) {}  // NOLINT
  // The elements live as long as the full expression that contains the list.
  template <typename U = T, typename = std::enable_if_t<std::is_const_v<U>>>
  constexpr Span(std::initializer_list<value_type> list) : Span(list.begin(), list.size()) {}  // NOLINT

  constexpr T* data() const { return data_; }
  constexpr size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr T* begin() const { return data_; }
  constexpr T* end() const { return data_ + size_; }

  // REQUIRES: index < size()
  constexpr T& operator[](size_t index) const { return data_[index]; }
  // REQUIRES: !empty()
  constexpr T& front() const { return data_[0]; }
  constexpr T& back() const { return data_[size_ - 1]; }

  // REQUIRES: count <= size()
  constexpr Span first(size_t count) const { return {data_, count}; }
  constexpr Span last(size_t count) const { return {data_ + size_ - count, count}; }
  // REQUIRES: offset <= size()
  constexpr Span subspan(size_t offset) const { return {data_ + offset, size_ - offset}; }
  // REQUIRES: offset <= size() and count <= size() - offset
  constexpr Span subspan(size_t offset, size_t count) const { return {data_ + offset, count}; }

 private:
  T* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace mergedb
