#include "app/doctor/doctor.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/timex.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <string_view>

#include "app/doctor/doctor_checks.h"
#include "app/doctor/doctor_text.h"
#include "app/system/terminal.h"
#include "base/text/harmless_text.h"
#include "file/open_beneath.h"
#include "io/uring.h"
#include "net/port_trial.h"
#include "server/schemes/scheme.h"

namespace h2server::app {

namespace {

// --- facts of this machine ------------------------------------------------------------------

DescriptorFacts descriptor_facts(unsigned workers) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);  // fails only for an invalid argument
  return {.soft = limit.rlim_cur, .hard = limit.rlim_max, .workers = workers};
}

unsigned processors_online() {
  const long online = ::sysconf(_SC_NPROCESSORS_ONLN);
  return static_cast<unsigned>(std::max(online, 1L));
}

ClockFacts clock_facts() {
  timex status{};  // no mode: asks only
  const int state = ::adjtimex(&status);
  // EPERM: a container forbids it even to ask.
  return {.known = state >= 0,
          .synchronised = state >= 0 && state != TIME_ERROR && (status.status & STA_UNSYNC) == 0,
          .now_s = std::time(nullptr)};
}

// Returns how many threads or processes the server may start.
unsigned tasks_of(const server::SchemeKind& kind, unsigned workers) {
  constexpr unsigned connections = 512;  // with one each, by default
  constexpr unsigned helpers = 4 + 16;   // that read files, and of run_blocking()
  return (kind.per_connection ? connections : workers) + helpers;
}

std::vector<PortTrial> try_ports(const DoctorInput& input) {
  std::vector<PortTrial> trials;
  for (const std::uint16_t port : {std::uint16_t{443}, std::uint16_t{8443}}) {
    if (port == input.port) continue;
    trials.push_back({input.host, port, net::try_port(input.host, port)});
  }
  return trials;
}

// --- the screen -----------------------------------------------------------------------------

struct Mark {
  std::string_view text;
  std::string_view colour;  // ECMA-48, 8.3.117 (SGR)
};

Mark mark_of(Level level) {
  switch (level) {
    case Level::ok:
      return {"ok", "\x1b[32m"};
    case Level::note:
      return {"note", "\x1b[33m"};
    case Level::problem:
      break;
  }
  return {"problem", "\x1b[1;31m"};
}

constexpr std::string_view plain = "\x1b[0m";
constexpr std::size_t mark_columns = 7;
constexpr std::size_t gap_columns = 2;

// The columns of a text in which each character takes one.
std::size_t text_columns(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

// Breaks a text at spaces into lines of at most `columns`, unless a word is longer.
std::vector<std::string> wrap(std::string_view text, std::size_t columns) {
  std::vector<std::string> lines(1);
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    std::string& line = lines.back();
    if (line.empty()) {
      line = word;
    } else if (text_columns(line) + 1 + text_columns(word) <= columns) {
      line.append(1, ' ').append(word);
    } else {
      lines.emplace_back(word);
    }
  }
  return lines;
}

std::string padded(std::string_view text, std::size_t columns) {
  return std::string(text) + std::string(columns - std::min(columns, text_columns(text)), ' ');
}

// Returns the lines of one finding: its mark, its title and its sentence, below it the remedy.
std::string rows(const Finding& finding, std::size_t title_columns, ScreenStyle style) {
  const Mark mark = mark_of(finding.level);
  const std::size_t indent = 2 + mark_columns + gap_columns + title_columns + gap_columns;
  const std::size_t room = style.columns - indent;
  std::string text = "  ";
  if (style.colour) text += mark.colour;
  text += padded(mark.text, mark_columns + gap_columns);
  if (style.colour) text += plain;
  text += padded(base::harmless_text(finding.title), title_columns + gap_columns);
  bool first = true;
  for (const std::string& line : wrap(base::harmless_text(finding.finding), room)) {
    text += std::string(first ? 0 : indent, ' ') + line + "\n";
    first = false;
  }
  if (finding.remedy.empty()) return text;
  first = true;
  for (const std::string& line : wrap(base::harmless_text(finding.remedy), room - gap_columns)) {
    text += std::string(indent, ' ') + (first ? "→ " : "  ") + line + "\n";
    first = false;
  }
  return text;
}

std::string summary(const std::vector<Finding>& findings) {
  const auto count = [&](Level level) {
    return static_cast<std::uint64_t>(std::ranges::count(findings, level, &Finding::level));
  };
  const std::uint64_t problems = count(Level::problem);
  const std::uint64_t notes = count(Level::note);
  const std::string noted = notes == 0 ? "" : ", " + counted(notes, "note");
  if (problems == 0) return "No problem" + noted + ": the server can start.";
  return counted(problems, "problem") + noted + ".";
}

ScreenStyle style_of_terminal() {
  ScreenStyle style;
  if (::isatty(STDOUT_FILENO) == 0) return style;
  style.colour = shows_colour();
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col != 0) {
    style.columns = std::clamp<unsigned>(size.ws_col, 60, style.columns);
  }
  return style;
}

}  // namespace

std::vector<Finding> diagnose(const DoctorInput& input) {
  const SystemTree system;
  const server::SchemeKind& kind = server::kind_of(input.scheme);
  const unsigned workers = input.threads == 0 ? kind.workers : input.threads;
  std::vector<Finding> findings;
  findings.push_back(check_kernel(system, file::probe_open_beneath()));
  if (!kind.blocking) findings.push_back(check_io_uring(system, input.io, io::uring_obstacle()));
  if (!input.cleartext) findings.push_back(check_ktls(system));
  findings.push_back(check_clock(clock_facts()));
  findings.push_back(check_descriptors(descriptor_facts(workers)));
  findings.push_back(check_processors({.online = processors_online(),
                                       .allowed = processors_allowed(),
                                       .workers = workers,
                                       .event_loops = !kind.blocking}));
  if (auto tasks = check_tasks(system, tasks_of(kind, workers))) {
    findings.push_back(*std::move(tasks));
  }
  findings.push_back(check_memory(system));
  findings.push_back(check_port(
      system, {input.host, input.port,
               input.port == 0 && input.host.empty() ? 0 : net::try_port(input.host, input.port)}));
  findings.push_back(check_usual_ports(system, try_ports(input)));
  findings.push_back(check_backlog(system));
  if (input.host.empty()) findings.push_back(check_ipv6(system));
  if (!input.cleartext) {
    findings.push_back(check_certificate(input, std::time(nullptr)));
    findings.push_back(check_key(input));
  }
  if (!input.root.empty()) findings.push_back(check_root(input));
  if (!input.upload_directory.empty()) findings.push_back(check_uploads(input));
  return findings;
}

std::string doctor_screen(const std::vector<Finding>& findings, ScreenStyle style) {
  std::size_t title_columns = 0;
  for (const Finding& finding : findings) {
    title_columns = std::max(title_columns, text_columns(base::harmless_text(finding.title)));
  }
  std::string text = "h2server " H2SERVER_VERSION " doctor\n\n";
  for (const Finding& finding : findings) text += rows(finding, title_columns, style);
  return text + "\n  " + summary(findings) + "\n";
}

int doctor(const DoctorInput& input) {
  const std::vector<Finding> findings = diagnose(input);
  const std::string screen = doctor_screen(findings, style_of_terminal());
  std::fputs(screen.c_str(), stdout);
  const bool written = std::fflush(stdout) == 0;  // fails on a full disk; a closed pipe ends us
  const bool sound = std::ranges::none_of(
      findings, [](const Finding& finding) { return finding.level == Level::problem; });
  return written && sound ? 0 : 1;
}

}  // namespace h2server::app
