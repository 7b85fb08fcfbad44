// SPDX-License-Identifier: Apache-2.0
// Writes completions for bash, zsh and fish: see completions.hpp.
#include "starling/apps/documents/completions.hpp"

#include <string_view>
#include <vector>

namespace starling::apps {
namespace {

constexpr const char* head =
    "# Written by the program from its own flags: starling documents. Do not edit.\n";

/// Returns the command's flags, and --config, which is a flag of the program but may follow a
/// command.
std::vector<const Flag*> flags_of(const Command& command, const Command& program) {
  std::vector<const Flag*> flags;
  flags.reserve(command.flags.size() + 1);
  for (const Flag& flag : command.flags) flags.push_back(&flag);
  if (&command == &program) return flags;
  for (const Flag& flag : program.flags)
    if (flag.names.back() == "--config") flags.push_back(&flag);
  return flags;
}

std::vector<std::string> names_below(const Command& command) {
  std::vector<std::string> names;
  names.reserve(command.commands.size());
  for (const Command& below : command.commands) names.push_back(below.path.back());
  return names;
}

/// Returns the text in single quotes. `inner` replaces each single quote in the text.
std::string quoted(std::string_view text, const std::string& inner) {
  std::string shell = "'";
  for (const char byte : text) {
    if (byte == '\'')
      shell += inner;
    else
      shell += byte;
  }
  return shell + "'";
}

/// Returns the words that may follow the command: its subcommands, and the choices of its first
/// positional.
std::vector<std::string> first_words(const Command& command) {
  std::vector<std::string> words = names_below(command);
  if (!command.positionals.empty())
    for (const std::string& choice : command.positionals.front().choices) words.push_back(choice);
  return words;
}

std::string bash_values(const Command& command, const Command& program) {
  std::string cases;
  for (const Flag* const flag : flags_of(command, program)) {
    if (!flag->takes_value()) continue;
    std::string patterns;
    for (const std::string& name : flag->names)
      patterns +=
          (patterns.empty() ? "" : " | ") + quoted(joined(command.path, " ") + " " + name, "");
    cases += "        " + patterns + ")\n";
    if (!flag->choices.empty())
      cases += "            mapfile -t COMPREPLY < <(compgen -W " +
               quoted(joined(flag->choices, " "), "") + " -- \"$current\")\n";
    else if (!flag->may_be_path())
      cases += "            compopt +o default 2>/dev/null\n";
    cases += "            return ;;\n";
  }
  return cases;
}

/// Escapes `text` for a specification of zsh's _arguments.
std::string zsh_text(std::string_view text) {
  std::string escaped;
  for (const char byte : text) {
    if (byte == '[' || byte == ']' || byte == ':' || byte == '\\') escaped += '\\';
    escaped += byte;
  }
  return escaped;
}

std::string zsh_action(const Flag& flag) {
  if (!flag.choices.empty()) return "(" + joined(flag.choices, " ") + ")";
  if (flag.value == "DIR") return "_files -/";
  return flag.may_be_path() ? "_files" : " ";
}

std::string zsh_flag(const Flag& flag) {
  std::string lines;
  for (const std::string& name : flag.names) {
    std::string spec;
    if (flag.is_repeated) spec += "*";
    spec += name + "[" + zsh_text(first_sentence(flag.description)) + "]";
    if (flag.takes_value()) spec += ":" + zsh_text(flag.value) + ":" + zsh_action(flag);
    lines += "    " + quoted(spec, "'\\''") + " \\\n";
  }
  return lines;
}

std::string zsh_function(const Command& command, const Command& program) {
  const std::string name = "_" + joined(command.path, "_");
  std::string text = name + "() {\n";
  const bool has_commands = !command.commands.empty();
  text +=
      "  local curcontext=$curcontext state state_descr line\n"
      "  typeset -A opt_args\n"
      "  _arguments -C \\\n";
  for (const Flag* const flag : flags_of(command, program)) text += zsh_flag(*flag);
  if (has_commands) {
    text += "    '1: :->command' \\\n    '*:: :->rest'\n  case $state in\n    command)\n";
    text += "      local -a commands=(\n";
    for (const Command& below : command.commands)
      text += "        " +
              quoted(below.path.back() + ":" + first_sentence(below.summary), "'\\''") + "\n";
    text += "      )\n      _describe command commands\n";
    if (!command.needs_command) text += "      _files\n";
    text += "      ;;\n    rest)\n      case $line[1] in\n";
    for (const Command& below : command.commands)
      text += "        " + below.path.back() + ") _" + joined(below.path, "_") + " ;;\n";
    text += "        *) _files ;;\n      esac\n      ;;\n  esac\n";
  } else {
    text += "    " +
            (command.positionals.empty()
                 ? std::string("&& return")
                 : quoted("*:" + zsh_text(command.positionals.front().names.front()) + ":" +
                              zsh_action(command.positionals.front()),
                          "'\\''")) +
            "\n";
  }
  return text + "}\n";
}

/// Returns the condition for a completion in fish: the commands on the line are exactly
/// command.path.
std::string fish_condition(const Command& command) {
  std::vector<std::string> words = command.path;
  words.front() = "__starling_at";
  return "'" + joined(words, " ") + "'";
}

std::string fish_flag(const Command& command, const Flag& flag) {
  std::string line = "complete -c starling -n " + fish_condition(command);
  for (const std::string& name : flag.names)
    line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  if (flag.takes_value()) {
    line += flag.may_be_path() ? " -r -F" : " -x";
    if (!flag.choices.empty()) line += " -a " + quoted(joined(flag.choices, " "), "");
  }
  return line + " -d " + quoted(first_sentence(flag.description), "\\'") + "\n";
}

}  // namespace

std::string bash_completion(const Command& program) {
  std::string paths;
  std::string words;
  std::string values;
  for (const Command* const command : all_commands(program)) {
    const std::string path = joined(command->path, " ");
    if (command != &program) paths += (paths.empty() ? "" : " | ") + quoted(path, "");
    std::vector<std::string> names;
    for (const Flag* const flag : flags_of(*command, program))
      names.insert(names.end(), flag->names.begin(), flag->names.end());
    words += "        " + quoted(path, "") +
             ")\n            flags=" + quoted(joined(names, " "), "") +
             "\n            words=" + quoted(joined(first_words(*command), " "), "") + " ;;\n";
    values += bash_values(*command, program);
  }
  return std::string(head) + "_starling() {\n" +
         "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}\n"
         "    local path=starling word flags='' words=''\n"
         "    COMPREPLY=()\n"
         "    # bash makes --flag=value three words\n"
         "    if [[ $current == = ]]; then\n"
         "        current=''\n"
         "    elif [[ $previous == = ]]; then\n"
         "        previous=${COMP_WORDS[COMP_CWORD - 2]}\n"
         "    fi\n"
         "    for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
         "        case \"$path $word\" in\n"
         "        " +
         paths +
         ") path+=\" $word\" ;;\n"
         "        esac\n"
         "    done\n"
         "    case \"$path $previous\" in\n" +
         values +
         "    esac\n"
         "    case \"$path\" in\n" +
         words +
         "    esac\n"
         "    if [[ $current == -* ]]; then\n"
         "        mapfile -t COMPREPLY < <(compgen -W \"$flags\" -- \"$current\")\n"
         "    else\n"
         "        mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
         "    fi\n"
         "}\n"
         "complete -o default -F _starling starling\n";
}

std::string zsh_completion(const Command& program) {
  std::string text = "#compdef starling\n" + std::string(head);
  for (const Command* const command : all_commands(program))
    text += zsh_function(*command, program);
  return text + "_starling \"$@\"\n";
}

std::string fish_completion(const Command& program) {
  std::string paths;
  std::string text;
  for (const Command* const command : all_commands(program)) {
    if (command != &program)
      paths += " " + quoted(joined({command->path.begin() + 1, command->path.end()}, " "), "");
    for (const Command& below : command->commands)
      text += "complete -c starling -n " + fish_condition(*command) +
              (command->needs_command ? " -f" : "") + " -a " + below.path.back() + " -d " +
              quoted(first_sentence(below.summary), "\\'") + "\n";
    for (const Flag* const flag : flags_of(*command, program)) text += fish_flag(*command, *flag);
    if (command->positionals.empty()) continue;
    const Flag& first = command->positionals.front();
    if (!first.choices.empty())
      text += "complete -c starling -f -n " + fish_condition(*command) + " -a " +
              quoted(joined(first.choices, " "), "") + "\n";
  }
  return std::string(head) +
         "function __starling_at --description 'Whether the line is at this command'\n"
         "    set -l commands" +
         paths +
         "\n"
         "    set -l path\n"
         "    for word in (commandline -opc)[2..]\n"
         "        if contains -- (string join -- ' ' $path $word) $commands\n"
         "            set -a path $word\n"
         "        end\n"
         "    end\n"
         "    test \"$path\" = \"$argv\"\n"
         "end\n" +
         text;
}

}  // namespace starling::apps
