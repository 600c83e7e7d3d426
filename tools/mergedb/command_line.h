// Parses the command line. CLI11 knows the options of each verb, checks their values and prints the help, but it never
// sees a word: it would split "[a,b]" into a and b and drop "++". A value of an option goes to CLI11 after the name of
// that option, as the one word that CLI11 takes unchanged.
//
//   mergedb put --db DIR KEY --hex --keyspace NAME VALUE -- -more
//   options   --db DIR   --hex   --keyspace NAME           for CLI11, each value behind its option
//   words     KEY VALUE                                    Line::words
//   tail      -more                                        Command::tail
//
// A word that begins with a dash is an option, except "-" and all words after "--". An option that takes values takes
// the next words as they are. "--name=VALUE" and "-nVALUE" are the same as the name and VALUE; "-ab" is "-a -b".
// Test: tests/db/command_line_test.cc, with each option of each verb.
#pragma once

#include <string>
#include <vector>

#include "command.h"

namespace mergedb::tool {

// Sets the line, the tail and the function that runs the verb. Throws CLI::ParseError if the command line is invalid,
// and CLI::Success for --help and --version.
void ParseCommandLine(Command& command, const std::vector<std::string>& words);

}  // namespace mergedb::tool
