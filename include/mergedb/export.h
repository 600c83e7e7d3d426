// MERGEDB_EXPORT marks what a program may link to; everything else in the shared library is hidden.
#pragma once

#if defined(MERGEDB_STATIC)
#define MERGEDB_EXPORT
#else
#define MERGEDB_EXPORT [[gnu::visibility("default")]]
#endif
