// The VersionEdit that leads from one Version to another. A commit writes it to the MANIFEST. The comparison skips
// runs that both Versions share by pointer.
#pragma once

#include "format/version_edit.h"
#include "kv/order.h"
#include "version/version.h"

namespace mergedb::version {

// ENSURES: ApplyEdit(order, source, DiffVersions(order, source, target)) equals target.
format::VersionEdit DiffVersions(const kv::Order& order, const Version& source, const Version& target);

}  // namespace mergedb::version
