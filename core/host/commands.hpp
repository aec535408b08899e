/// The commands of the `revet` program.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "session.hpp"

namespace revet::host {

struct Command {
  std::string name;
  std::string synopsis;  ///< after "revet NAME"
  std::string summary;
  /// Runs with the words that follow the command's name. Throws ExitNow, Error or InternalError.
  std::function<void(const Command&, const std::vector<std::string>&)> run;
};

/// In the order of --help.
const std::vector<Command>& commands();

/// One option as --help, the reference, the man page and completion show it.
struct OptionHelp {
  std::string name;   ///< "--plugin", "-p, --pipeline"
  std::string value;  ///< "FILE"; "" for a switch
  std::string text;
};
/// The options that a command has beside the common ones.
std::vector<OptionHelp> own_options(const Command& command);
std::vector<OptionHelp> shared_options();

/// Tables that --help, the man page and the reference print.
using HelpTable = std::vector<std::pair<std::string, std::string>>;
const HelpTable& program_options();  ///< options in place of a command
const HelpTable& exit_codes();
const HelpTable& environment();

/// Parses `words` for a command whose own options are `own`; unknown options are errors with the
/// nearest name, --help prints and ends the run.
po::variables_map parse_options(const Command& command, const std::vector<std::string>& words,
                                po::options_description own,
                                const po::positional_options_description& positional,
                                Common& common);

/// At most one input file.
po::positional_options_description one_input();
/// The input file; throws Error (exit 2) where it is missing.
std::string required_input(const Command& command, const po::variables_map& values);

/// The NAME=VALUE items of --arg.
std::map<std::string, std::string> arguments_of(const std::vector<std::string>& items);

/// Puts `to` in place of every `from`.
void replace_all(std::string& text, const std::string& from, const std::string& to);

void compile_command(const Command& command, const std::vector<std::string>& words);
void run_command(const Command& command, const std::vector<std::string>& words);
void reference_command(const Command& command, const std::vector<std::string>& words);
void new_plugin_command(const Command& command, const std::vector<std::string>& words);
void sweep_command(const Command& command, const std::vector<std::string>& words);
void replay_command(const Command& command, const std::vector<std::string>& words);
void opt_command(const Command& command, const std::vector<std::string>& words);
void check_command(const Command& command, const std::vector<std::string>& words);
void list_command(const Command& command, const std::vector<std::string>& words);
void pipeline_command(const Command& command, const std::vector<std::string>& words);

}  // namespace revet::host
