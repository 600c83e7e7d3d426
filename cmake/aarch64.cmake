# A toolchain file: the library for aarch64, compiled by Debian's g++-aarch64-linux-gnu. `./dev build java-aarch64` and
# `./dev build python-aarch64` use it.
#
# MERGEDB_AARCH64_CODECS is a folder with libsnappy.a, liblz4.a and libzstd.a for aarch64: where Debian's packages libsnappy-dev:arm64,
# liblz4-dev:arm64 and libzstd-dev:arm64 put them. Their headers are those of this machine.
# MERGEDB_AARCH64_HEADERS is a folder that is searched after all others: for the pyconfig.h that Debian's Python.h includes.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_STRIP aarch64-linux-gnu-strip)
set(MERGEDB_AARCH64_HEADERS "" CACHE PATH "A folder with aarch64-linux-gnu/python3.*/pyconfig.h, if it is not /usr/include")
set(CMAKE_CXX_FLAGS_INIT "-idirafter /usr/include")
set(CMAKE_C_FLAGS_INIT "-idirafter /usr/include")
if(MERGEDB_AARCH64_HEADERS)
  string(APPEND CMAKE_CXX_FLAGS_INIT " -idirafter ${MERGEDB_AARCH64_HEADERS}")
endif()
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES MERGEDB_AARCH64_CODECS MERGEDB_AARCH64_HEADERS)
set(MERGEDB_AARCH64_CODECS /usr/lib/aarch64-linux-gnu CACHE PATH "libsnappy.a, liblz4.a and libzstd.a for aarch64")
set(SNAPPY_LIBRARY ${MERGEDB_AARCH64_CODECS}/libsnappy.a CACHE FILEPATH "")
add_link_options(-L${MERGEDB_AARCH64_CODECS})
