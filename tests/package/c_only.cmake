# The CMakeLists.txt of a project in C elsewhere that uses the installed package.
cmake_minimum_required(VERSION 3.16)
project(consumer LANGUAGES C)
find_package(mergedb 0.1 REQUIRED)
foreach(kind mergedb static)
  add_executable(consumer-${kind} consumer.c)
  target_link_libraries(consumer-${kind} PRIVATE mergedb::${kind})
endforeach()
