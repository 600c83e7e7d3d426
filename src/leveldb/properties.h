// "leveldb.*" properties, made of what mergedb has: its runs stand for levels.
//
//     level 0      runs as they were flushed; they may overlap
//     1 to 5       runs of merged ones, by tier; each is sorted, and several may stand at one level
//     6            the oldest run, into which all others merge
//
// "mergedb.*" properties are passed on.
#pragma once

#include <string>
#include <string_view>

#include "db/db_impl.h"

namespace leveldb {

// False if there is no such property.
bool PrintProperty(mergedb::db::DbImpl& database, std::string_view name, std::string* value);

}  // namespace leveldb
