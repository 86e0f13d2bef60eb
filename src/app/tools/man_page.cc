#include "app/tools/man_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace h2server::app {

namespace {

// Returns a text in which roff finds no requests: neither escapes nor, at the start of a line,
// control characters. An ASCII hyphen is written so that it can be copied.
std::string roff(std::string_view text) {
  std::string result;
  bool line_begins = true;
  for (const char c : text) {
    if (line_begins && (c == '.' || c == '\'')) result += "\\&";
    line_begins = c == '\n';
    if (c == '\\') result += "\\e";
    else if (c == '-') result += "\\-";
    else result += c;
  }
  return result;
}

std::string sentence(std::string_view text) {
  return text.empty() || text.ends_with('.') ? std::string(text) : std::string(text) + ".";
}

// "\fB\-p\fR, \fB\-\-port\fR \fINUM\fR"
std::string head_of(const OptionText& option) {
  if (option.positional) return fmt::format("\\fI{}\\fR", roff(option.names.front()));
  std::string head;
  for (const std::string& name : option.names) {
    head += fmt::format("{}\\fB{}\\fR", head.empty() ? "" : ", ", roff(name));
  }
  if (!option.value.empty()) head += fmt::format(" \\fI{}\\fR", roff(option.value));
  return head;
}

std::string body_of(const OptionText& option) {
  std::string body = sentence(option.description);
  if (!option.choices.empty()) {
    body += fmt::format("\nOne of {}.", fmt::join(option.choices, ", "));
  }
  if (!option.range.empty()) body += fmt::format("\nThe range is {}.", option.range);
  if (!option.usual.empty()) body += fmt::format("\nThe default is {}.", option.usual);
  return roff(body);
}

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return text;
}

std::string synopsis(const ProgramText& program) {
  std::string lines = fmt::format(".B {}\n[\\fIOPTIONS\\fR]", program.name);
  for (const OptionText& option : program.options) {
    if (option.positional) lines += fmt::format(" [{}]", head_of(option));
  }
  lines += '\n';
  for (const Command& command : commands()) {
    lines += fmt::format(".br\n.B {} {}\n", program.name, roff(command.name));
    if (command.takes_options) lines += "[\\fIOPTIONS\\fR]\n";
    if (!command.argument.empty()) lines += roff(command.argument) + "\n";
  }
  return lines;
}

}  // namespace

std::string man_page(const ProgramText& program) {
  std::string page = fmt::format(
      ".TH {} 1 \"\" \"h2server " H2SERVER_VERSION "\" \"User Commands\"\n"
      ".SH NAME\n{} \\- web server for HTTP/1.1 and HTTP/2\n"
      ".SH SYNOPSIS\n{}"
      ".SH DESCRIPTION\n{}\n"
      ".SH COMMANDS\nWithout a command, the server starts.\n",
      upper(program.name), program.name, synopsis(program), roff(sentence(program.description)));
  for (const Command& command : commands()) {
    page += fmt::format(".TP\n\\fB{}\\fR {}\n{}\n", roff(command.name), roff(command.argument),
                        roff(sentence(command.description)));
  }
  page += ".SH OPTIONS\n";
  for (const OptionText& option : program.options) {
    page += fmt::format(".TP\n{}\n{}\n", head_of(option), body_of(option));
  }
  return page + fmt::format(".SH NOTES\n.nf\n{}\n.fi\n", roff(program.footer));
}

}  // namespace h2server::app
