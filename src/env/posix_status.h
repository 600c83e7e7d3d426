// errno -> Status: the one place that decides what a refusal of the operating system means to the database.
//
//     ENOENT                 NotFound          it is not there
//     ENOSPC EDQUOT EFBIG    NoSpace           goes away when space returns; writers try again by themselves
//     EMFILE ENFILE          Busy              goes away when descriptors are closed; nothing is damaged
//     EEXIST                 InvalidArgument   the caller chose a name that is taken
//     anything else          IOError           EIO, EROFS, EACCES, ELOOP (a symlink where a file should be), ...
#pragma once

#include <cerrno>
#include <cstdint>
#include <string_view>

#include "mergedb/status.h"

namespace mergedb::env {

// "db/000012.log: pwrite 4096 bytes at 8192: No space left on device".
Status PosixStatus(int error, std::string_view path, std::string_view what);
Status PosixStatus(int error, std::string_view path, std::string_view what, uint64_t bytes, uint64_t offset);

// Call again while a signal interrupts: `const int fd = RetryOnSignal([&] { return open(...); });`
// WHY never for close: Linux has given the descriptor away by then, perhaps to another thread.
template <typename Call>
auto RetryOnSignal(Call&& call) {
  decltype(call()) returned;
  do {
    errno = 0;
    returned = call();
  } while (returned < 0 && errno == EINTR);
  return returned;
}

}  // namespace mergedb::env
