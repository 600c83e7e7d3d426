// MERGEDB_EXPORT marks the symbols that a program may link to. The shared library hides all other symbols.
#pragma once

#if defined(MERGEDB_STATIC)
#define MERGEDB_EXPORT
#else
#define MERGEDB_EXPORT [[gnu::visibility("default")]]
#endif
