# `cmake --install build/release --prefix DIR`: the library, its headers, a CMake package, a pkg-config file and the command.
# `cmake --install build/release --prefix DIR --component leveldb`: what stands in LevelDB's place, asked for by name only, since it has the
# names of another package: headers of the same names, libleveldb.so, the CMake package with leveldb::leveldb.
# `cmake --install build/release --prefix DIR --component dropins`: the libraries with LevelDB's, LMDB's and LSMDB's names, in a folder of
# their own, where no program finds them unasked; and mergedb-run, which starts a program with them.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(mergedb_package ${CMAKE_INSTALL_LIBDIR}/cmake/mergedb)

set_target_properties(mergedb_shared PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR} EXPORT_NAME mergedb)
set_target_properties(mergedb_static PROPERTIES EXPORT_NAME static)
target_include_directories(mergedb_shared INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_include_directories(mergedb_static INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/mergedb TYPE INCLUDE FILES_MATCHING PATTERN "*.h")
install(TARGETS mergedb_shared EXPORT mergedbTargets)
install(TARGETS mergedb_static)
install(EXPORT mergedbTargets NAMESPACE mergedb:: DESTINATION ${mergedb_package})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/mergedbConfig.cmake.in ${CMAKE_BINARY_DIR}/package/mergedbConfig.cmake
                              INSTALL_DESTINATION ${mergedb_package} PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/package/mergedbConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/package/mergedbConfig.cmake ${CMAKE_BINARY_DIR}/package/mergedbConfigVersion.cmake DESTINATION ${mergedb_package})
# From the folder of the file to the prefix: ../.., or ../../.. in Debian's lib/x86_64-linux-gnu.
file(RELATIVE_PATH MERGEDB_PC_TO_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
string(REGEX REPLACE "/$" "" MERGEDB_PC_TO_PREFIX "${MERGEDB_PC_TO_PREFIX}")
configure_file(${PROJECT_SOURCE_DIR}/cmake/mergedb.pc.in ${CMAKE_BINARY_DIR}/package/mergedb.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/package/mergedb.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# The file that Debian's programs ask for, and LevelDB's own name for it. Programs that are built against these headers get Debian's layout.
if(TARGET mergedb_dropin_debian)
  set(leveldb_package ${CMAKE_INSTALL_LIBDIR}/cmake/leveldb)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/leveldb TYPE INCLUDE COMPONENT leveldb EXCLUDE_FROM_ALL FILES_MATCHING PATTERN "*.h")
  install(FILES $<TARGET_FILE:mergedb_dropin_debian> $<TARGET_FILE:mergedb_dropin_upstream> DESTINATION ${CMAKE_INSTALL_LIBDIR}
          PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ COMPONENT leveldb EXCLUDE_FROM_ALL)
  install(CODE "file(CREATE_LINK libleveldb.so.1d \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/libleveldb.so\" SYMBOLIC)"
          COMPONENT leveldb EXCLUDE_FROM_ALL)
  configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/leveldbConfig.cmake.in ${CMAKE_BINARY_DIR}/package/leveldbConfig.cmake
                                INSTALL_DESTINATION ${leveldb_package} PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
  # LevelDB's version, which its users ask for.
  write_basic_package_version_file(${CMAKE_BINARY_DIR}/package/leveldbConfigVersion.cmake VERSION 1.23.0 COMPATIBILITY SameMajorVersion)
  install(FILES ${CMAKE_BINARY_DIR}/package/leveldbConfig.cmake ${CMAKE_BINARY_DIR}/package/leveldbConfigVersion.cmake
          DESTINATION ${leveldb_package} COMPONENT leveldb EXCLUDE_FROM_ALL)
endif()

if(TARGET mergedb_dropin_debian)
  set(library_permissions PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
  set(dropins DESTINATION ${CMAKE_INSTALL_LIBDIR}/mergedb ${library_permissions} COMPONENT dropins EXCLUDE_FROM_ALL)
  install(FILES $<TARGET_FILE:mergedb_dropin_debian> $<TARGET_FILE:mergedb_dropin_upstream> ${dropins})
  install(FILES $<TARGET_FILE:mergedb_lmdb_dropin> ${dropins} RENAME liblmdb.so.0)
  install(FILES $<TARGET_FILE:mergedb_lsmdb_dropin> ${dropins} RENAME liblsmdb.so.0)
  configure_file(${PROJECT_SOURCE_DIR}/tools/dropins/mergedb-run.in ${CMAKE_BINARY_DIR}/package/mergedb-run @ONLY)
  install(PROGRAMS ${CMAKE_BINARY_DIR}/package/mergedb-run DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT dropins EXCLUDE_FROM_ALL)
  install(FILES ${PROJECT_SOURCE_DIR}/tools/dropins/mergedb-run.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT dropins EXCLUDE_FROM_ALL)
endif()
