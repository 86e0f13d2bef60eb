#include "app/acme/acme_backoff.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <limits>

#include "app/acme/acme_schedule.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/text/text.h"
#include "file/whole_file.h"
#include "net/certs/folder_lock.h"
#include "net/certs/new_file.h"

namespace h2server::app {

namespace {

constexpr std::size_t backoff_bytes_max = 64 * 1024;  // a hundred names

// Takes "KEY: VALUE\n".
std::optional<std::string_view> take_value(std::string_view& text, std::string_view key) {
  const std::size_t end = text.find('\n');
  if (end == text.npos || !text.starts_with(key)) return std::nullopt;
  std::string_view value = text.substr(key.size(), end - key.size());
  if (!value.starts_with(": ")) return std::nullopt;
  text.remove_prefix(end + 1);
  return value.substr(2);
}

std::optional<std::int64_t> take_count(std::string_view& text, std::string_view key,
                                       std::int64_t most) {
  const std::optional<std::string_view> value = take_value(text, key);
  const std::optional<std::uint64_t> number = value ? base::parse_decimal(*value) : std::nullopt;
  if (!number || *number > static_cast<std::uint64_t>(most)) return std::nullopt;
  return static_cast<std::int64_t>(*number);
}

}  // namespace

std::string acme_order_name(std::string_view challenge, std::span<const std::string> hosts) {
  return fmt::format("{} {}", challenge, fmt::join(hosts, " "));
}

std::string to_text(const AcmeBackoff& backoff) {
  return fmt::format("order: {}\nfailures: {}\nlast: {}\nnext: {}\n", backoff.order,
                     backoff.failures, backoff.last_s, backoff.next_s);
}

std::optional<AcmeBackoff> parse_backoff(std::string_view text, std::string_view order,
                                         std::int64_t now_s) {
  constexpr std::int64_t any = std::numeric_limits<std::int64_t>::max();
  const std::optional<std::string_view> of = take_value(text, "order");
  const auto failures = of ? take_count(text, "failures", 1'000'000) : std::nullopt;
  const auto last_s = failures ? take_count(text, "last", any) : std::nullopt;
  const auto next_s = last_s ? take_count(text, "next", any) : std::nullopt;
  if (!next_s || !text.empty()) return std::nullopt;
  const bool counts = *of == order && *failures > 0 && *last_s <= now_s && *next_s >= *last_s &&
                      *next_s - *last_s <= retry_pause_max.count();
  if (!counts) return std::nullopt;
  return AcmeBackoff{.order = std::string(order),
                     .failures = static_cast<unsigned>(*failures),
                     .last_s = *last_s,
                     .next_s = *next_s};
}

std::string backoff_file(const AcmeFiles& files) { return files.certificate + ".failures"; }

std::string read_backoff(const AcmeFiles& files) {
  const std::string file = backoff_file(files);
  Result<std::string, int> text = file::read_whole_file(file, backoff_bytes_max);
  if (text) return *std::move(text);
  if (text.error() != ENOENT) {
    base::log_warning("acme: can't read {}: {}", file, std::strerror(text.error()));
  }
  return {};
}

Result<void, std::string> keep_backoff(const AcmeFiles& files, std::string_view text) {
  const std::string file = backoff_file(files);
  const base::Fd lock = net::lock_folder_of(file);
  int error = 0;
  if (text.empty()) {
    if (::unlink(file.c_str()) != 0 && errno != ENOENT) error = errno;
  } else {
    error = net::write_unfinished(file, text, 0600);
    if (error == 0) error = net::publish_over(file);
  }
  if (error == 0) return {};
  return std::unexpected(fmt::format("acme: can't keep {}: {}", file, std::strerror(error)));
}

}  // namespace h2server::app
