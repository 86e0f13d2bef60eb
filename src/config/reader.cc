#include "config/reader.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <glob.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "config/toml_text.h"

namespace h2server::config {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t depth_max = 8;                      // of files that include files
constexpr std::size_t files_max = 10'000;                 // 1000 sites with some parts each
constexpr std::size_t file_bytes_max = 16 * 1024 * 1024;  // rather a mistake than a configuration
constexpr std::string_view glob_characters = "*?[";

Result<std::string, std::string> read_whole(const std::string& path) {
  const base::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  std::array<char, 16 * 1024> part;
  ssize_t bytes = file.get() < 0 ? -1 : 1;
  while (bytes > 0 && text.size() <= file_bytes_max) {
    bytes = ::read(file.get(), part.data(), part.size());
    if (bytes < 0 && errno == EINTR) bytes = 1;
    else if (bytes > 0) text.append(part.data(), static_cast<std::size_t>(bytes));
  }
  if (bytes < 0) return std::unexpected(std::string(std::strerror(errno)));
  if (bytes > 0) return std::unexpected("it is larger than 16 MiB");
  return text;
}

// Returns the names that the pattern matches, sorted; nullopt for an error of the system.
std::optional<std::vector<std::string>> expand_glob(const std::string& pattern) {
  glob_t found{};
  const int status = ::glob(pattern.c_str(), 0, nullptr, &found);
  std::vector<std::string> names(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  if (status == 0 || status == GLOB_NOMATCH) return names;
  return std::nullopt;  // GLOB_NOSPACE, GLOB_ABORTED
}

class Reader {
 public:
  Reader(Settings& settings, Problems& problems, const Environment& environment)
      : settings_(settings), problems_(problems), environment_(environment) {}

  // `asked` is where the file was named.
  void read(const std::string& path, const Place& asked);

 private:
  void report(const TomlProblem& problem, const std::string& path);
  void read_tables(const TomlTables& tables, const std::string& path);
  void read_entry(const TomlEntry& entry, Section section, const std::string& path,
                  Assignments& all);
  void include(const Assignment& files, const std::string& path);
  std::optional<std::string> opposite_of(const std::string& text, const TomlEntry& entry,
                                         const Place& place);
  std::optional<std::string> text_of(const TomlValue& value, const Assignment& assignment);

  Settings& settings_;
  Problems& problems_;
  const Environment& environment_;
  std::vector<fs::path> open_;  // the files that are being read, from the first one on
  std::size_t files_ = 0;
};

void Reader::read(const std::string& path, const Place& asked) {
  std::error_code failure;
  fs::path full = fs::weakly_canonical(fs::absolute(path, failure), failure);
  if (failure) full = path;
  if (std::ranges::find(open_, full) != open_.end()) {
    problems_.add(asked, fmt::format("{} includes itself", path));
    return;
  }
  if (open_.size() > depth_max) {
    problems_.add(asked,
                  fmt::format("{} is included by more than {} files in a row", path, depth_max));
    return;
  }
  if (++files_ > files_max) {
    problems_.add(asked, fmt::format("more than {} files are included", files_max));
    return;
  }
  const Result<std::string, std::string> text = read_whole(path);
  if (!text) {
    problems_.add(asked, fmt::format("can't read the configuration {}: {}", path, text.error()));
    return;
  }
  open_.push_back(std::move(full));
  settings_.all_files.push_back(path);
  const TomlText document = parse_toml(*text);
  for (const TomlProblem& problem : document.problems) report(problem, path);
  for (const TomlEntry& entry : document.top.entries) {
    read_entry(entry, Section::top, path, settings_.top);
  }
  for (const TomlTables& tables : document.tables) read_tables(tables, path);
  open_.pop_back();
}

// A value without quotes is no TOML, but one sees what is meant.
void Reader::report(const TomlProblem& problem, const std::string& path) {
  const Place place{path, problem.line};
  const Option* option = nullptr;
  for (const Section section : {Section::top, Section::site, Section::listener}) {
    if (option == nullptr && !problem.key.empty()) option = find_option(problem.key, section);
  }
  const bool is_word = problem.value.find_first_of("\"' \t") == std::string::npos;
  if (option == nullptr || !is_word || problem.what.find("redefine") != std::string::npos) {
    problems_.add(place, problem.what);
    return;
  }
  if (problem.value.empty()) {
    problems_.add(place, fmt::format("{} has no value", problem.key));
    return;
  }
  Configuration program;
  Site site;
  Listener listener;
  const std::string found =
      option->secret ? std::string() : " = " + public_value(*option, problem.value);
  const Read<void> done = option->set({program, site, listener}, problem.value);
  problems_.add(place, fmt::format("{}{}: {}", problem.key, found,
                                   done ? "a text without quotes; write it between \" and \""
                                        : done.error()));
}

void Reader::read_tables(const TomlTables& tables, const std::string& path) {
  const bool is_site = tables.name == "site";
  if (!is_site && tables.name != "listener") {
    const std::string_view known = find_option(tables.name, Section::top) != nullptr
                                       ? "is an option, not a table"
                                       : "is no table; allowed: [[site]] and [[listener]]";
    problems_.add({path, tables.tables.front().line},
                  fmt::format("{}{}{} {}", tables.is_array ? "[[" : "[", tables.name,
                              tables.is_array ? "]]" : "]", known));
    return;
  }
  if (!tables.is_array) {
    problems_.add({path, tables.tables.front().line},
                  fmt::format("[{0}]: write [[{0}]], since there may be several", tables.name));
    return;
  }
  const Section section = is_site ? Section::site : Section::listener;
  for (const TomlTable& table : tables.tables) {
    Table result{.own = {}, .place = {path, table.line}};
    for (const TomlEntry& entry : table.entries) read_entry(entry, section, path, result.own);
    (is_site ? settings_.sites : settings_.listeners).push_back(std::move(result));
  }
}

void Reader::read_entry(const TomlEntry& entry, Section section, const std::string& path,
                        Assignments& all) {
  Assignment assignment{
      .option = find_option(entry.key, section), .values = {}, .place = {path, entry.line}};
  if (assignment.option == nullptr) {
    problems_.add(assignment.place, explain_unknown(entry.key, section));
    return;
  }
  const Option& option = *assignment.option;
  if (entry.is_list && !option.repeatable) {
    problems_.add(assignment.place, fmt::format("{} takes one value, not a list", entry.key));
    return;
  }
  for (const TomlValue& value : entry.values) {
    std::optional<std::string> text = text_of(value, assignment);
    if (text && entry.key == option.opposite) text = opposite_of(*text, entry, assignment.place);
    if (text) assignment.values.push_back(*std::move(text));  // else it is given, but wrong
  }
  const auto before = std::ranges::find(all, &option, &Assignment::option);
  if (before != all.end()) {
    problems_.add(assignment.place,
                  fmt::format("{} is set already, at {}", entry.key, name_of(before->place)));
    return;
  }
  if (option.key == "include") include(assignment, path);
  else all.push_back(std::move(assignment));
}

// Returns the value of a flag that is given by its opposite, or nullopt if it is none.
std::optional<std::string> Reader::opposite_of(const std::string& text, const TomlEntry& entry,
                                               const Place& place) {
  const Read<bool> on = read_switch(text);
  if (on) return *on ? "false" : "true";
  problems_.add(place, fmt::format("{} = {}: {}", entry.key, text, on.error()));
  return std::nullopt;
}

// Returns the value as a text for the option's setter, or nullopt if it has the wrong type.
std::optional<std::string> Reader::text_of(const TomlValue& value, const Assignment& assignment) {
  const Option& option = *assignment.option;
  const bool is_text = option.type == ValueType::text || option.type == ValueType::file ||
                       option.type == ValueType::directory;
  using Kind = TomlValue::Kind;
  if (value.kind == Kind::other) {
    problems_.add(assignment.place,
                  fmt::format("{}: a value of a type that no option has", option.key), option.key);
    return std::nullopt;
  }
  if (is_text && value.kind != Kind::text) {
    problems_.add(
        assignment.place,
        fmt::format("{}: not a text; write it between \" and \"", describe(assignment, value.text)),
        option.key);
    return std::nullopt;
  }
  if (value.kind != Kind::text) return value.text;
  Result<std::string, std::string> text = expand(value.text, environment_);
  if (text) return *std::move(text);
  problems_.add(assignment.place, fmt::format("{}: {}", option.key, text.error()), option.key);
  return std::nullopt;
}

void Reader::include(const Assignment& files, const std::string& path) {
  const fs::path folder = fs::path(path).parent_path();
  for (const std::string& name : files.values) {
    const std::string target = (folder / name).string();
    if (name.find_first_of(glob_characters) == std::string::npos) {
      read(target, files.place);
      continue;
    }
    const std::optional<std::vector<std::string>> found = expand_glob(target);
    if (!found) problems_.add(files.place, fmt::format("can't read the folders of {}", target));
    if (!found) continue;
    for (const std::string& one : *found) read(one, files.place);
  }
}

}  // namespace

Settings read_file(const std::string& path, Problems& problems, const Environment& environment) {
  Settings settings;
  settings.file = path;
  Reader reader(settings, problems, environment);
  reader.read(path, {});
  return settings;
}

}  // namespace h2server::config
