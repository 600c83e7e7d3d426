// The one VersionEdit that leads from one Version to another: what a commit writes to the MANIFEST. Versions share their unchanged
// runs by pointer, and a changed run shares most slices, so the VersionEdit is as small as the change.
#pragma once

#include "format/version_edit.h"
#include "kv/order.h"
#include "version/version.h"

namespace mergedb::version {

// ENSURES: ApplyEdit(source, DiffVersions(source, target)) equals target.
format::VersionEdit DiffVersions(const kv::Order& order, const Version& source, const Version& target);

}  // namespace mergedb::version
