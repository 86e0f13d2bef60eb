#include "content/s3/credentials.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "base/fd.h"
#include "base/text/text.h"

namespace h2server::content::s3 {

namespace {

constexpr std::int64_t look_again_s = 60;
constexpr std::size_t file_bytes_max = 1024 * 1024;

// They are in field lines. In a signature's scope, "/" divides parts, and "," divides parameters.
bool is_secret(std::string_view text) noexcept {
  return std::ranges::all_of(text, [](char c) { return c > 0x20 && c < 0x7f; });
}
bool is_key_id(std::string_view text) noexcept {
  return !text.empty() && is_secret(text) && text.find_first_of(":/,") == text.npos;
}

std::string_view take_line(std::string_view& text) noexcept {
  const std::size_t end = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return base::trim(line);
}

// Returns nullopt for a line that does not begin a section.
std::optional<std::string_view> section_of(std::string_view line) noexcept {
  if (!line.starts_with('[') || !line.ends_with(']')) return std::nullopt;
  return base::trim(line.substr(1, line.size() - 2));
}

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

Result<std::string, std::string> read_text(int file) {
  std::string text;
  char piece[4096];
  for (;;) {
    const ssize_t count = ::read(file, piece, sizeof piece);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return std::unexpected(std::strerror(errno));
    if (count == 0) return text;
    text.append(piece, static_cast<std::size_t>(count));
    if (text.size() > file_bytes_max) return std::unexpected("it is too large");
  }
}

// Calls `take` with the names and values of a section. Returns false if there is none.
template <class Take>
bool read_section(std::string_view text, std::string_view section, Take take) {
  bool within = false;
  bool seen = false;
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    if (line.empty() || line.front() == '#' || line.front() == ';') continue;
    if (const std::optional<std::string_view> name = section_of(line)) {
      within = *name == section;
      seen |= within;
      continue;
    }
    const std::size_t equals = line.find('=');
    if (!within || equals == line.npos) continue;
    take(base::trim(line.substr(0, equals)), base::trim(line.substr(equals + 1)));
  }
  return seen;
}

// Returns the value of the variable, else the file in the home directory; empty if there is none.
std::string file_of(const char* name, const char* below_home) {
  const std::string given = variable(name);
  const std::string home = variable("HOME");
  return given.empty() && !home.empty() ? home + below_home : given;
}

// As AWS's tools: the profile has what the environment lacks.
WebIdentity identity_of_environment(const CredentialsOptions& options) {
  WebIdentity identity{.role = variable("AWS_ROLE_ARN"),
                       .token_file = variable("AWS_WEB_IDENTITY_TOKEN_FILE"),
                       .session_name = variable("AWS_ROLE_SESSION_NAME")};
  const auto add = [&identity](const std::string& file, const std::string& section) {
    const Result<std::string, std::string> text = read_text_file(file);
    if (text) complete_identity(identity, *text, section);
  };
  add(options.file, options.profile);
  add(file_of("AWS_CONFIG_FILE", "/.aws/config"),
      options.profile == "default" ? options.profile : "profile " + options.profile);
  if (identity.session_name.empty()) identity.session_name = "h2server";
  return identity;
}

}  // namespace

Result<void, std::string> check_credentials(const Credentials& found) {
  if (!is_key_id(found.key_id)) return std::unexpected("the access key ID is malformed");
  if (found.secret.empty()) return std::unexpected("there is no secret access key");
  if (!is_secret(found.secret)) return std::unexpected("the secret access key is malformed");
  if (!is_secret(found.session_token)) return std::unexpected("the session token is malformed");
  return {};
}

Result<std::string, std::string> read_text_file(const std::string& path) {
  const base::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return std::unexpected(std::strerror(errno));
  return read_text(file.get());
}

Result<Credentials, std::string> parse_profile(std::string_view text, std::string_view profile) {
  Credentials found;
  const bool seen =
      read_section(text, profile, [&found](std::string_view name, std::string_view value) {
        if (name == "aws_access_key_id") found.key_id = value;
        if (name == "aws_secret_access_key") found.secret = value;
        if (name == "aws_session_token") found.session_token = value;
      });
  if (!seen) return std::unexpected(fmt::format("there is no profile [{}]", profile));
  if (found.key_id.empty()) {
    return std::unexpected(fmt::format("the profile [{}] has no aws_access_key_id", profile));
  }
  const Result<void, std::string> sound = check_credentials(found);
  if (!sound) return std::unexpected(fmt::format("profile [{}]: {}", profile, sound.error()));
  return found;
}

void complete_identity(WebIdentity& identity, std::string_view text, std::string_view section) {
  const WebIdentity before = identity;
  read_section(text, section, [&](std::string_view name, std::string_view value) {
    if (name == "role_arn" && before.role.empty()) identity.role = value;
    if (name == "web_identity_token_file" && before.token_file.empty()) identity.token_file = value;
    if (name == "role_session_name" && before.session_name.empty()) identity.session_name = value;
  });
}

Result<CredentialsOptions, std::string> credentials_options_of_environment() {
  CredentialsOptions options;
  options.given = {.key_id = variable("AWS_ACCESS_KEY_ID"),
                   .secret = variable("AWS_SECRET_ACCESS_KEY"),
                   .session_token = variable("AWS_SESSION_TOKEN")};
  if (!options.given.key_id.empty()) {
    const Result<void, std::string> sound = check_credentials(options.given);
    if (!sound) {
      return std::unexpected(fmt::format("AWS_ACCESS_KEY_ID is set, but {}", sound.error()));
    }
    return options;
  }
  if (!options.given.secret.empty()) {
    return std::unexpected("AWS_SECRET_ACCESS_KEY is set, but AWS_ACCESS_KEY_ID is not");
  }
  options.given = {};
  options.file = file_of("AWS_SHARED_CREDENTIALS_FILE", "/.aws/credentials");
  const std::string profile = variable("AWS_PROFILE");
  if (!profile.empty()) options.profile = profile;
  options.identity = identity_of_environment(options);
  if (options.identity.token_file.empty()) options.identity = {};
  if (!options.identity.token_file.empty() && options.identity.role.empty()) {
    return std::unexpected("AWS_WEB_IDENTITY_TOKEN_FILE is set, but AWS_ROLE_ARN is not");
  }
  if (options.file.empty() && options.identity.role.empty()) {
    return std::unexpected("no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, "
                           "AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN, or "
                           "AWS_SHARED_CREDENTIALS_FILE");
  }
  return options;
}

Result<CredentialsRef, std::string> CredentialsSource::current(std::int64_t now_s) {
  if (options_.ask) return options_.ask();
  const std::lock_guard lock(mutex_);
  if (!options_.given.key_id.empty()) {
    if (credentials_ == nullptr) credentials_ = std::make_shared<const Credentials>(options_.given);
    return credentials_;
  }
  if (credentials_ != nullptr && now_s - looked_s_ < look_again_s) return credentials_;
  looked_s_ = now_s;
  Result<CredentialsRef, std::string> found = read();
  if (found) return credentials_ = *std::move(found);
  if (credentials_ != nullptr) return credentials_;
  return std::unexpected(fmt::format("no credentials: AWS_ACCESS_KEY_ID is not set, and {}: {}",
                                     options_.file, found.error()));
}

Result<CredentialsRef, std::string> CredentialsSource::read() {
  const base::Fd file(::open(options_.file.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status;
  if (file.get() < 0 || ::fstat(file.get(), &status) != 0) {
    return std::unexpected(std::strerror(errno));
  }
  const Stamp stamp{.modified_ns = status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec,
                    .inode = status.st_ino,
                    .size = status.st_size};
  if (credentials_ != nullptr && stamp == stamp_) return credentials_;
  const Result<std::string, std::string> text = read_text(file.get());
  if (!text) return std::unexpected(text.error());
  Result<Credentials, std::string> found = parse_profile(*text, options_.profile);
  if (!found) return std::unexpected(std::move(found.error()));
  stamp_ = stamp;
  return std::make_shared<const Credentials>(*std::move(found));
}

}  // namespace h2server::content::s3
