#include "app/uploads/upload_tokens.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <utility>

#include "app/system/state_directory.h"
#include "app/system/stop.h"
#include "app/tools/link_key.h"
#include "base/keyed_hash.h"
#include "base/log.h"
#include "base/random.h"
#include "base/shared_objects.h"
#include "base/text/text.h"
#include "config/values.h"
#include "content/storage/file_digest.h"
#include "file/whole_file.h"
#include "h2server/rate_limit.h"
#include "net/certs/folder_lock.h"
#include "net/certs/new_file.h"
#include "net/crypto/tls_sha256.h"
#include "server/passwords/guess_limits.h"

namespace h2server::app {

namespace {

constexpr std::string_view digest_prefix = "{SHA256}";
constexpr std::size_t token_file_bytes_max = 1 << 20;
constexpr std::uint32_t failures_max = 10;  // as PasswordFileOptions has it

std::string_view mode_name(content::AccessMode mode) {
  switch (mode) {
    case content::AccessMode::drop:
      return "drop";
    case content::AccessMode::read:
      return "read";
    case content::AccessMode::full:
      break;
  }
  return "full";
}

std::optional<content::AccessMode> mode_named(std::string_view name) {
  using enum content::AccessMode;
  for (const auto mode : {drop, read, full}) {
    if (mode_name(mode) == name) return mode;
  }
  return std::nullopt;
}

bool read_digest(std::string_view text, net::Sha256Digest& digest) {
  const auto bytes = content::bytes_of_hex_digits(text);
  if (!bytes || bytes->size() != digest.size()) return false;
  std::ranges::copy(*bytes, digest.begin());
  return true;
}

std::string_view take_part(std::string_view& rest) {
  const std::string_view part = rest.substr(0, rest.find(':'));
  rest.remove_prefix(std::min(part.size() + 1, rest.size()));
  return part;
}

Result<content::UploadToken, std::string> parse_line(std::string_view line,
                                                     const UploadTokenOptions& options) {
  content::UploadToken token;
  token.mode = options.mode;
  token.quota_bytes = options.quota_bytes;
  token.name = take_part(line);
  if (token.name.empty()) return std::unexpected("a token without a name");
  const std::string_view hash = take_part(line);
  if (!hash.starts_with(digest_prefix) ||
      !read_digest(hash.substr(digest_prefix.size()), token.digest)) {
    return std::unexpected("not NAME:{SHA256}DIGITS, with 64 hexadecimal digits");
  }
  if (const std::string_view mode = take_part(line); !mode.empty()) {
    const auto known = mode_named(mode);
    if (!known) return std::unexpected(fmt::format("unknown mode {}: drop, read or full", mode));
    token.mode = *known;
  }
  if (const std::string_view quota = take_part(line); !quota.empty()) {
    const auto bytes = config::read_size(quota);
    if (!bytes) return std::unexpected(fmt::format("quota {}: {}", quota, bytes.error()));
    token.quota_bytes = *bytes;
  }
  if (!line.empty()) return std::unexpected("more than a name, a digest, a mode and a quota");
  return token;
}

// Of all sites, also after a reload. A token is a guess of its client only.
content::GuessChecks guess_checks() {
  static base::SharedObjects<std::uint32_t, server::GuessLimits> all;
  const auto limits = all.get(failures_max, failures_max);
  const auto guess = [](const Request& request) {
    return server::Guess{.client = base::keyed_hash(client_network(request)),
                         .client_is_known = true};
  };
  const auto now_ns = [] {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
  };
  return {
      .wait_ns = [=](const Request& request) { return limits->wait_ns(guess(request), now_ns()); },
      .count_failure =
          [=](const Request& request) { limits->count_failure(guess(request), now_ns()); }};
}

std::string line_of(const std::string& token) {
  return fmt::format("first:{}{}\n", digest_prefix, content::hex_digits(net::sha256(token)));
}

Stop unusable_tokens(const std::string& file, int error) {
  return {exit_failed,
          fmt::format("can't use the upload tokens in {}: {}", file, std::strerror(error))};
}

// Returns the text of the file. Without one, makes a token, sets `shown` to it, and returns what
// will be the text.
Result<std::string, Stop> read_or_make(const std::string& file, const std::string& known,
                                       std::string& shown) {
  Result<std::string, int> text = file::read_whole_file(file, token_file_bytes_max);
  if (text) return *std::move(text);
  if (text.error() != ENOENT) return std::unexpected(unusable_tokens(file, text.error()));
  shown = known.empty() ? make_upload_token() : known;
  return line_of(shown);
}

using UsageRef = std::shared_ptr<content::UploadUsage>;

// Tokens of a run are known to this process only, so what they uploaded is kept no longer than it
// lives.
Result<UsageRef, int> usage_of_run() {
  static UsageRef kept;  // by the main thread
  if (kept == nullptr) {
    auto made = content::UploadUsage::in_memory();
    if (!made) return std::unexpected(made.error());
    kept = std::make_shared<content::UploadUsage>(*std::move(made));
  }
  return kept;
}

Result<UsageRef, int> open_usage(bool kept) {
  const Result<std::string, std::string> state =
      kept ? state_directory() : Result<std::string, std::string>(std::unexpected(std::string()));
  if (state) {
    auto usage = content::UploadUsage::open(*state + "/upload-usage");
    if (usage) return std::make_shared<content::UploadUsage>(*std::move(usage));
    base::log_warning("{}/upload-usage: {}; quotas count from zero", *state,
                      std::strerror(usage.error()));
  }
  return usage_of_run();
}

}  // namespace

std::string make_upload_token() {
  // 32 characters without 0, 1, l and o: five bits each, to be typed from a screen if need be.
  constexpr std::string_view characters = "abcdefghijkmnpqrstuvwxyz23456789";
  constexpr std::size_t size = 32;
  static_assert(characters.size() == 32);
  std::string token;
  while (token.size() < size) {
    std::uint64_t bits = base::random_number();
    for (int i = 0; i < 8; ++i, bits >>= 5) token += characters[bits % 32];
  }
  return token;
}

Result<std::vector<content::UploadToken>, std::string> parse_upload_tokens(
    std::string_view text, const UploadTokenOptions& options) {
  std::vector<content::UploadToken> tokens;
  for (std::size_t number = 1; !text.empty(); ++number) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    line = base::trim(line);
    if (line.empty() || line.starts_with('#')) continue;
    auto token = parse_line(line, options);
    if (!token) return std::unexpected(fmt::format("{}: {}", number, token.error()));
    if (std::ranges::find(tokens, token->digest, &content::UploadToken::digest) != tokens.end()) {
      return std::unexpected(fmt::format("{}: a token that is there already", number));
    }
    tokens.push_back(*std::move(token));
    if (tokens.size() > content::UploadUsage::tokens_max) {
      return std::unexpected(fmt::format("{}: more than 1000 tokens", number));
    }
  }
  if (tokens.empty()) return std::unexpected(std::string("1: no token"));
  return tokens;
}

Result<void, std::string> check_upload_tokens(const std::string& file) {
  const Result<std::string, int> text = file::read_whole_file(file, token_file_bytes_max);
  if (!text && text.error() == ENOENT) return {};
  if (!text) return std::unexpected(unusable_tokens(file, text.error()).text);
  const auto tokens = parse_upload_tokens(*text, {});
  if (!tokens) return std::unexpected(fmt::format("{}:{}", file, tokens.error()));
  return {};
}

Result<UploadTokens, Stop> UploadTokens::open(const UploadTokenOptions& options) {
  UploadTokens made;
  content::UploadAccessOptions access;
  access.guesses = guess_checks();
  if (options.file.empty()) {
    made.shown_ = options.run_token.empty() ? make_upload_token() : options.run_token;
    access.tokens.push_back({.name = "printed",
                             .digest = net::sha256(made.shown_),
                             .mode = options.mode,
                             .quota_bytes = options.quota_bytes});
  } else {
    const Result<std::string, Stop> text =
        read_or_make(options.file, options.run_token, made.shown_);
    if (!text) return std::unexpected(text.error());
    auto tokens = parse_upload_tokens(*text, options);
    if (!tokens) {
      return std::unexpected(
          Stop{exit_wrong_use, fmt::format("{}:{}", options.file, tokens.error())});
    }
    access.tokens = *std::move(tokens);
  }
  const auto has_quota = [](const content::UploadToken& token) { return token.quota_bytes > 0; };
  if (std::ranges::any_of(access.tokens, has_quota)) {
    Result<UsageRef, int> usage = open_usage(!options.file.empty());
    if (!usage) {
      return std::unexpected(Stop{exit_failed, fmt::format("can't count what is uploaded: {}",
                                                           std::strerror(usage.error()))});
    }
    for (const content::UploadToken& token : access.tokens) {
      if (!has_quota(token) || (*usage)->find(token.digest) != nullptr) continue;
      base::log_warning(
          "upload-usage in the state directory has no place for another token, after {}: {} can "
          "upload nothing until that file is removed and all count from zero",
          content::UploadUsage::tokens_max, token.name);
    }
    access.usage = *std::move(usage);
  }
  const auto key = open_link_key();
  access.is_named = options.is_named;
  if (key) access.link_key = *key;
  else base::log_info("signed links are off: {}", key.error());
  made.access_ = content::make_upload_access(std::move(access));
  return made;
}

Result<void, std::string> keep_digest(const ShownToken& token) {
  if (token.file.empty()) return {};
  const base::Fd locked = net::lock_folder_of(token.file);
  int error = net::write_unfinished(
      token.file, "# NAME:{SHA256}DIGITS[:drop|read|full[:QUOTA]]\n" + line_of(token.token), 0600);
  if (error == 0) error = net::publish(token.file);
  if (error == 0) return {};
  return std::unexpected(unusable_tokens(token.file, error).text);
}

std::string url_with_token(std::string_view url, std::string_view token) {
  return fmt::format("{}files?token={}", url, token);
}

}  // namespace h2server::app
