// The text of assets/inspect.html with its style and its script. embed.cmake writes it into a source during the build.
#pragma once

namespace mergedb::tool {

extern const char kInspectAsset[];

}  // namespace mergedb::tool
