// The "leveldb.*" properties. Sorted runs stand for levels:
//
//     level 0      flushed runs; they may overlap
//     1 to 5       runs written by compactions, by tier; one level may hold several runs
//     6            the oldest run, the target of bottommost compactions
//
// Other property names go to mergedb.
#pragma once

#include <string>
#include <string_view>

#include "db/db_impl.h"

namespace leveldb {

// False if the property does not exist.
bool PrintProperty(mergedb::db::DbImpl& database, std::string_view name, std::string* value);

}  // namespace leveldb
