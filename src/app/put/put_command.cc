#include "app/put/put_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "app/options/options.h"
#include "app/system/terminal.h"
#include "base/log.h"
#include "base/text/harmless_text.h"
#include "base/text/text.h"
#include "config/values.h"
#include "content/names/markup.h"

namespace h2server::app {

namespace {

constexpr const char* put_help =
    "h2server put [OPTIONS] FILE... URL\n"
    "Uploads files to an h2server, or to another server that speaks tus 1.0.0 or takes PUT. URL "
    "is\n"
    "https://HOST/, a folder of it such as https://HOST/files/DIR, or what the server printed, "
    "with\n"
    "its token. What was interrupted goes on where it was, also when the command is run again.\n"
    "Existing files are not replaced.\n\n"
    "  --token TOKEN         the token of the upload area [$H2SERVER_TOKEN]\n"
    "  --name NAME           the name at the server, of a single FILE\n"
    "  --insecure, -k        accept any certificate\n"
    "  --cacert FILE         trust the certificates in FILE, in PEM\n"
    "  --retries NUM         how often to try again without progress [10]\n"
    "  --retry-delay TIME    before the first of these; doubles with each, up to 30s [500ms]\n"
    "  --quiet, -q           show no progress\n\n"
    "The exit status is 0 if all files are stored, 1 if one is not, and 2 for wrong use.\n";

volatile std::sig_atomic_t ended_by = 0;  // a signal

void take_signals() {
  struct sigaction action{};
  action.sa_handler = [](int signal) { ended_by = signal; };
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(signal, &action, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
}

// Ends as if the signal had not been caught, so that a script sees it.
int finish(int status) {
  if (ended_by != 0) {
    ::signal(ended_by, SIG_DFL);
    ::raise(ended_by);
  }
  return status;
}

std::string base_name(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

PutProgress::Shape shape_for(const PutOptions& options) {
  using enum PutProgress::Shape;
  if (options.quiet) return nothing;
  const char* const terminal = std::getenv("TERM");
  const bool draws = terminal != nullptr && std::string_view(terminal) != "dumb";
  return draws && ::isatty(STDERR_FILENO) != 0 ? bar : lines;
}

std::string state_key(const PutTarget& target, const LocalFile& file, const std::string& name) {
  std::error_code failure;
  const std::string path = std::filesystem::canonical(file.path(), failure).string();
  return target.folder + '\n' + target.name_prefix + name + '\n' + path + '\n' + file.identity();
}

void print_result(const std::string& name, std::uint64_t size, const PutResult& result) {
  std::string bytes;
  content::append_size(bytes, size);
  fmt::print("{}  {}\n", result.sha256, base::harmless_text(name));
  std::fflush(stdout);
  if (!result.verified) {
    base::log_warning("{}: {} stored, but the server gave no SHA-256 to compare with", name, bytes);
  }
}

// Returns false if the file could not be stored; the reason is printed.
bool put_file(UploadClient& client, const PutTarget& target, const PutOptions& options,
              const std::string& path) {
  Result<LocalFile, int> file = LocalFile::open(path);
  if (!file) {
    const bool special = file.error() == ENOTSUP;
    base::log_error("{}: {}", path, special ? "not a regular file" : std::strerror(file.error()));
    return false;
  }
  const std::string name = options.name.empty() ? base_name(path) : options.name;
  PutState state(put_state_directory(), state_key(target, *file, name));
  PutProgress progress(shape_for(options), base::harmless_text(name), file->size());
  PutTransfer transfer({.client = client,
                        .target = target,
                        .file = *file,
                        .state = state,
                        .progress = progress,
                        .name = name,
                        .token = options.token.empty() ? target.token : options.token,
                        .policy = options.policy,
                        .interrupted = [] { return ended_by != 0; }});
  const Result<PutResult, std::string> result = transfer.run();
  progress.end();
  if (result) {
    print_result(name, file->size(), *result);
    return true;
  }
  if (ended_by != 0) base::log_error("{}: interrupted; run it again to go on", name);
  else base::log_error("{}: {}", name, result.error());
  return false;
}

// Reads the options' values one after the other.
class Arguments {
 public:
  explicit Arguments(const std::vector<std::string>& all) : all_(all) {}

  [[nodiscard]] bool next() { return ++index_ <= all_.size(); }
  [[nodiscard]] std::string_view current() const { return all_[index_ - 1]; }
  // Returns true if the current argument is that option, and takes its value: "--x V" or "--x=V".
  bool take(std::string_view option, Result<std::string, std::string>& value) {
    const std::string_view argument = current();
    if (argument == option) {
      if (index_ == all_.size()) value = std::unexpected(std::string(option) + " needs a value");
      else value = all_[index_++];
      return true;
    }
    const bool joined =
        argument.starts_with(option) && argument.substr(option.size()).starts_with('=');
    if (joined) value = std::string(argument.substr(option.size() + 1));
    return joined;
  }

 private:
  const std::vector<std::string>& all_;
  std::size_t index_ = 0;
};

Result<void, std::string> read_policy(std::string_view option, const std::string& value,
                                      PutPolicy& policy) {
  if (option == "--retries") {
    const auto number = config::read_number(value, {.least = 0, .most = 1'000'000});
    if (!number) return std::unexpected(fmt::format("{} {}: {}", option, value, number.error()));
    policy.retries = static_cast<unsigned>(*number);
    return {};
  }
  const auto time = config::read_duration(value);
  if (!time) return std::unexpected(fmt::format("{} {}: {}", option, value, time.error()));
  policy.first_wait = *time;
  return {};
}

Result<void, std::string> check(PutOptions& options, std::vector<std::string> places) {
  if (options.help) return {};
  if (places.size() < 2) {
    return std::unexpected(std::string("say what to upload, and where to: h2server put FILE URL"));
  }
  options.url = std::move(places.back());
  places.pop_back();
  options.files = std::move(places);
  if (!options.name.empty() && options.files.size() > 1) {
    return std::unexpected(std::string("--name is for a single file"));
  }
  for (const std::string& file : options.files) {
    if (file.empty() || (options.name.empty() && base_name(file).empty())) {
      return std::unexpected(fmt::format("'{}' is not a file", file));
    }
  }
  const auto is_sendable = [](char c) { return c > 0x20 && c < 0x7f; };
  for (const char c : options.token) {
    if (!is_sendable(c)) return std::unexpected(std::string("a token that can't be sent"));
  }
  return {};
}

}  // namespace

Result<PutOptions, std::string> parse_put_options(const std::vector<std::string>& arguments) {
  PutOptions options;
  std::vector<std::string> places;
  bool only_places = false;
  for (Arguments rest(arguments); rest.next();) {
    const std::string argument(rest.current());
    Result<std::string, std::string> value;
    if (only_places || argument == "-" || !argument.starts_with('-')) {
      places.push_back(argument);
    } else if (argument == "--") {
      only_places = true;
    } else if (argument == "--help" || argument == "-h") {
      options.help = true;
    } else if (argument == "--insecure" || argument == "-k") {
      options.client.insecure = true;
    } else if (argument == "--quiet" || argument == "-q") {
      options.quiet = true;
    } else if (rest.take("--token", value)) {
      options.token = value.value_or("");
    } else if (rest.take("--name", value)) {
      options.name = value.value_or("");
    } else if (rest.take("--cacert", value)) {
      options.client.ca_file = value.value_or("");
    } else if (rest.take("--retries", value) || rest.take("--retry-delay", value)) {
      const std::string option = argument.substr(0, argument.find('='));
      const auto read =
          value ? read_policy(option, *value, options.policy) : Result<void, std::string>();
      if (!read) return std::unexpected(read.error());
    } else {
      return std::unexpected(fmt::format("unknown option {}; h2server put --help", argument));
    }
    if (!value) return std::unexpected(value.error());
  }
  const Result<void, std::string> checked = check(options, std::move(places));
  if (!checked) return std::unexpected(checked.error());
  return options;
}

int run_put(int argc, char** argv) {
  auto options = parse_put_options({argv + 1, argv + argc});
  if (!options) return report({exit_wrong_use, options.error()});
  if (options->help) return report({0, put_help});
  const auto target = PutTarget::parse(options->url);
  if (!target) return report({exit_wrong_use, target.error()});
  const char* const token = std::getenv("H2SERVER_TOKEN");
  if (options->token.empty() && target->token.empty() && token != nullptr) options->token = token;
  if (!options->client.ca_file.empty() && ::access(options->client.ca_file.c_str(), R_OK) != 0) {
    return report({exit_wrong_use, fmt::format("can't read --cacert {}: {}",
                                               options->client.ca_file, std::strerror(errno))});
  }
  take_signals();
  UploadClient client(options->client);
  bool all_stored = true;
  for (const std::string& file : options->files) {
    if (ended_by != 0) break;
    all_stored &= put_file(client, *target, *options, file);
  }
  return finish(all_stored ? 0 : exit_failed);
}

}  // namespace h2server::app
