// SPDX-License-Identifier: Apache-2.0
// Writes man pages: see man_page.hpp. groff_man(7) describes the macros.
#include "starling/apps/documents/man_page.hpp"

#include <sstream>
#include <string_view>
#include <vector>

namespace starling::apps {
namespace {

/// Escapes what roff would read as a command, and sets `code` in bold. Dashes become \-, because
/// users copy flags from the page.
std::string roff(std::string_view text) {
  std::string escaped;
  bool is_code = false;
  for (const char byte : text) {
    if (byte == '`') {
      escaped += is_code ? "\\fR" : "\\fB";
      is_code = !is_code;
    } else if (byte == '\\') {
      escaped += "\\(rs";
    } else if (byte == '-') {
      escaped += "\\-";
    } else if (byte == '~') {
      escaped += "\\(ti";
    } else if (byte == '^') {
      escaped += "\\(ha";
    } else if (byte == '\'') {
      escaped += "\\(aq";
    } else {
      escaped += byte;
    }
  }
  if (is_code) escaped += "\\fR";
  return escaped.starts_with('.') ? "\\&" + escaped : escaped;
}

std::string bold(const std::string& text) {
  return "\\fB" + roff(text) + "\\fR";
}

std::string italic(const std::string& text) {
  return "\\fI" + roff(text) + "\\fR";
}

/// Converts lines of --help to roff. A line with an indent or a table's gap keeps its layout; roff
/// fills the other lines.
std::string lines_of(const std::string& text) {
  std::string page;
  bool is_literal = false;
  bool begins_paragraph = true;
  const auto set_literal = [&](bool value) {
    if (value != is_literal) page += value ? ".PP\n.nf\n" : ".fi\n";
    if (value != is_literal) begins_paragraph = !value;
    is_literal = value;
  };
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) {
      set_literal(false);
      begins_paragraph = true;
      continue;
    }
    set_literal(line.find("  ") != std::string::npos);
    if (!is_literal && begins_paragraph) page += ".PP\n";
    begins_paragraph = false;
    page += roff(line) + "\n";
  }
  set_literal(false);
  return page;
}

std::string value_text(const Flag& flag) {
  std::string value = italic(flag.value);
  for (int i = 1; i < flag.value_count; ++i) value += " " + italic(flag.value);
  return flag.is_repeated ? value + " ..." : value;
}

std::string flag_entry(const Flag& flag) {
  std::string entry = ".TP\n";
  for (const std::string& name : flag.names)
    entry += (&name == &flag.names.front() ? "" : ", ") + bold(name);
  if (flag.takes_value()) entry += " " + value_text(flag);
  entry += "\n" + roff(flag.description);
  if (!flag.description.ends_with('.')) entry += '.';
  entry += '\n';
  if (!flag.choices.empty()) entry += "One of " + roff(joined(flag.choices, ", ")) + ".\n";
  if (!flag.range.empty()) entry += "Range: " + roff(flag.range) + ".\n";
  if (!flag.shown_default.empty()) entry += "Default: " + roff(flag.shown_default) + ".\n";
  if (!flag.variable.empty()) entry += "Variable: " + bold(flag.variable) + ".\n";
  return entry;
}

std::string positional_entry(const Flag& flag) {
  std::string entry =
      ".TP\n" + italic(flag.names.front()) + "\n" + roff(first_sentence(flag.description));
  entry += roff(flag.description.substr(first_sentence(flag.description).size()));
  if (!flag.description.ends_with('.')) entry += '.';
  entry += '\n';
  if (!flag.choices.empty()) entry += "One of " + roff(joined(flag.choices, ", ")) + ".\n";
  return entry;
}

std::string synopsis_of(const Command& command) {
  std::string text = bold(joined(command.path, " ")) + " [\\fIOPTIONS\\fR]";
  for (const Flag& flag : command.positionals) {
    const std::string name = italic(flag.names.front()) + (flag.is_repeated ? "..." : "");
    text += flag.is_required ? " " + name : " [" + name + "]";
  }
  text += "\n";
  if (command.commands.empty()) return text;
  const std::string of_commands =
      bold(joined(command.path, " ")) + " \\fICOMMAND\\fR [\\fIOPTIONS\\fR]\n";
  return command.needs_command ? of_commands : text + ".br\n" + of_commands;
}

std::string option_sections(const Command& command) {
  std::string page = ".SH OPTIONS\n";
  std::string group = "Options";
  for (const Flag& flag : command.flags) {
    if (flag.group != group) page += ".SS " + roff(flag.group) + "\n";
    group = flag.group;
    page += flag_entry(flag);
  }
  return page;
}

std::string see_also(const Command& command, const Command& program) {
  std::vector<std::string> names;
  for (const Command* const each : all_commands(program)) {
    const bool is_near = each == &program || command.path.size() == 1 ||
                         (each->path.size() > 1 && each->path[1] == command.path[1]);
    if (is_near && each->path != command.path)
      names.push_back(bold(joined(each->path, "-")) + "(1)");
  }
  return ".SH SEE ALSO\n" + joined(names, ",\n") + "\n";
}

}  // namespace

std::string man_page(const Command& command, const Command& program, const std::string& version) {
  const std::string name = joined(command.path, "-");
  std::string title = name;
  for (char& letter : title)
    if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
  std::string page =
      ".\\\" Written by the program from its own flags: starling documents. Do not edit.\n.TH " +
      title + " 1 \"\" \"" + version + "\" \"Starling\"\n.nh\n.SH NAME\n" + roff(name) + " \\- " +
      roff(command.summary) + "\n.SH SYNOPSIS\n" + synopsis_of(command);
  if (!command.details.empty())
    page += ".SH DESCRIPTION\n" + roff(command.summary) + ":\n" + lines_of(command.details);
  if (!command.commands.empty()) {
    page += ".SH COMMANDS\n";
    for (const Command& below : command.commands)
      page += ".TP\n" + bold(joined(below.path, "-")) + "(1)\n" + roff(below.summary) + ".\n";
  }
  if (!command.positionals.empty()) {
    page += ".SH ARGUMENTS\n";
    for (const Flag& flag : command.positionals) page += positional_entry(flag);
  }
  page += option_sections(command);
  if (!command.footer.empty()) page += ".SH NOTES\n" + lines_of(command.footer);
  page += ".SH EXIT STATUS\n0: done. 1: failed. 2: wrong usage.\n";
  return page + see_also(command, program);
}

}  // namespace starling::apps
