// Which of a database's ordered maps a call is about. A value: copied, compared, kept as long as one likes.
//
// Every database has the default one, which calls that name none mean. Calls that take another one say so by a first
// parameter of this type.
#pragma once

#include <cstdint>

namespace mergedb {

class Keyspace {
 public:
  constexpr Keyspace() = default;  // the default one
  // The engine makes these; one that it did not make is InvalidArgument wherever it is used.
  constexpr explicit Keyspace(uint32_t id) : id_(id) {}

  constexpr uint32_t id() const { return id_; }  // never used twice in the life of a database; 0 is the default one
  constexpr bool is_default() const { return id_ == 0; }
  friend constexpr bool operator==(Keyspace a, Keyspace b) { return a.id_ == b.id_; }

 private:
  uint32_t id_ = 0;
};

}  // namespace mergedb
