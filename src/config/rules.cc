#include "config/rules.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <vector>

#include "base/networks.h"
#include "base/text/text.h"
#include "h2server/path_rules.h"
#include "http/fields/media_type.h"
#include "http/path_rules.h"

namespace h2server::config {

namespace {

constexpr int usual_status = 302;  // a browser does not keep it, so a mistake can be mended

// Splits at blanks.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (;;) {
    text = base::trim(text);
    if (text.empty()) return words;
    const std::size_t end = std::min(text.find_first_of(" \t"), text.size());
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

// An address of IPv4 or IPv6, without brackets.
bool is_address(int family, std::string_view text) {
  std::array<unsigned char, 16> bytes{};
  return ::inet_pton(family, std::string(text).c_str(), bytes.data()) == 1;
}

struct HostAndPort {
  std::string_view host;
  std::string_view port;
};

// "HOST:PORT", with brackets around an IPv6 address; host is without them.
std::optional<HostAndPort> split_address(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  HostAndPort parts{text.substr(0, colon), text.substr(colon + 1)};
  const bool brackets = parts.host.starts_with('[') && parts.host.ends_with(']');
  if (brackets) parts.host = parts.host.substr(1, parts.host.size() - 2);
  if (brackets != (parts.host.find(':') != std::string_view::npos)) return std::nullopt;
  return parts;
}

}  // namespace

Read<std::pair<std::string, std::string>> read_media_type(const std::string& text) {
  const std::size_t equals = std::min(text.find('='), text.size());
  std::pair<std::string, std::string> type{text.substr(0, equals),
                                           text.substr(std::min(equals + 1, text.size()))};
  std::ranges::transform(type.first, type.first.begin(), base::to_lower);
  const auto checked = http::MediaTypes::make({type});
  if (checked) return type;
  return wrong(fmt::format("{}; allowed: EXT=TYPE, such as gcode=text/plain",
                           equals == text.size() ? "there is no '='" : checked.error()));
}

Read<HeaderRule> read_header_rule(const std::string& text) {
  const std::size_t space = text.find(' ');
  const std::size_t colon = text.find(':', space);
  if (!text.starts_with('/') || space == text.npos || colon == text.npos) {
    return wrong("not a rule; allowed: a pattern and a field, such as \"/**.css Cache-Control: "
                 "max-age=3600\", or no value to remove the field");
  }
  const std::string name = text.substr(space + 1, colon - space - 1);
  if (!base::is_token(name)) return wrong(fmt::format("\"{}\" is not the name of a field", name));
  const std::string_view value = base::trim(std::string_view(text).substr(colon + 1));
  return HeaderRule{text.substr(0, space), name, std::string(value)};
}

Read<HeaderRule> read_cache_rule(const std::string& text) {
  const std::vector<std::string> words = words_of(text);
  if (words.size() != 2 || !words.front().starts_with('/')) {
    return wrong("not a rule; allowed: a pattern and a duration, no-cache or no-store, such as "
                 "\"/assets/** 1h\"");
  }
  const std::string& how = words.back();
  if (how == "no-store" || how == "no-cache")
    return HeaderRule{words.front(), "Cache-Control", how};
  const Read<std::chrono::milliseconds> duration = read_duration(how);
  if (!duration) return wrong(fmt::format("\"{}\" is {}", how, duration.error()));
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(*duration).count();
  return HeaderRule{words.front(), "Cache-Control", fmt::format("max-age={}", seconds)};
}

Read<ProtectedPath> read_protected_path(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (!text.starts_with('/') || equals == text.npos || equals + 1 == text.size()) {
    return wrong("not PATH=FILE; allowed: such as /private=users.htpasswd");
  }
  const std::string path = text.substr(0, equals);
  const std::string segments = path + "/";
  const bool is_literal = path.find_first_of("*?%") == path.npos &&
                          segments.find("/./") == segments.npos &&
                          segments.find("/../") == segments.npos;
  if (is_literal) return ProtectedPath{path, text.substr(equals + 1)};
  return wrong(fmt::format("{} would protect nothing: PATH is taken as it is, without *, ? and "
                           "percent-encoding, and with all below it",
                           path));
}

Read<PathRule> read_redirect(const std::string& text) {
  const std::vector<std::string> words = words_of(text);
  PathRule rule{.from = {}, .to = {}, .status = usual_status};
  bool formed = words.size() == 2 || words.size() == 3;
  if (words.size() == 3) {
    const Read<std::uint64_t> status = read_number(words[2], {});
    formed = status && *status < 1000;
    if (formed) rule.status = static_cast<int>(*status);
  }
  if (!formed) {
    return wrong(
        "not a redirect; allowed: a pattern, a path or URL, and a status, such as \"/old/** "
        "/new/$1 301\"");
  }
  rule.from = words[0];
  rule.to = words[1];
  try {
    static_cast<void>(redirects({{rule.from, rule.to, rule.status}}));
  } catch (const std::invalid_argument& error) {
    return wrong(error.what());
  }
  return rule;
}

Read<PathRule> read_rewrite(const std::string& text) {
  const std::vector<std::string> words = words_of(text);
  if (words.size() != 2) {
    return wrong("not a rewrite; allowed: a pattern and a path, such as \"/app/** /index.html\"");
  }
  const auto made = http::PathRewrites::make({{words[0], words[1]}});
  if (!made) return wrong("a rewrite makes no sense: " + made.error());
  return PathRule{.from = words[0], .to = words[1]};
}

Read<std::string> read_host(std::string_view text) {
  std::string host(text);
  std::ranges::transform(host, host.begin(), base::to_lower);
  if (is_address(AF_INET6, host)) return fmt::format("[{}]", host);
  if (host.starts_with('[') && host.ends_with(']') &&
      is_address(AF_INET6, std::string_view(host).substr(1, host.size() - 2))) {
    return host;
  }
  if (host.ends_with('.')) host.pop_back();
  const std::string_view name = std::string_view(host).substr(host.starts_with("*.") ? 2 : 0);
  if (std::ranges::any_of(name, [](char c) { return static_cast<unsigned char>(c) >= 0x80; })) {
    return wrong("not ASCII; allowed: the form of DNS, which begins with xn--");
  }
  const auto allowed = [](char c) {
    return base::is_alphanumeric(c) || c == '-' || c == '.' || c == '_';
  };
  constexpr std::size_t name_bytes_max = 253;  // RFC 1035, 2.3.4
  const bool formed = !name.empty() && name.size() <= name_bytes_max &&
                      std::ranges::all_of(name, allowed) && !name.starts_with('.') &&
                      name.find("..") == std::string_view::npos;
  if (formed) return host;
  return wrong("not a host; allowed: a name without a port, such as example.com, *.example.com or "
               "192.0.2.1");
}

Read<void> read_file_name(std::string_view text) {
  const bool valid =
      !text.empty() && text.find('/') == std::string_view::npos && text != "." && text != "..";
  if (valid) return {};
  return wrong(fmt::format("\"{}\" is not the name of a file", text));
}

Read<void> read_network(const std::string& text) {
  if (base::Networks::parse({text})) return {};
  return wrong("not an address or a network, whose bits behind its prefix are 0; allowed: such as "
               "192.0.2.7, 10.0.0.0/8 or 2001:db8::/32");
}

Read<void> read_admin_address(std::string_view text) {
  constexpr std::string_view unix_prefix = "unix:";
  if (text.starts_with(unix_prefix) && text.size() > unix_prefix.size()) return {};
  const std::optional<HostAndPort> parts = split_address(text);
  if (parts && !parts->host.empty() && read_number(parts->port, {0, 65535})) return {};
  return wrong("not an address; allowed: such as 127.0.0.1:9000, [::1]:9000 or unix:PATH");
}

bool is_local(std::string_view admin_address) {
  if (admin_address.starts_with("unix:")) return true;
  const std::optional<HostAndPort> parts = split_address(admin_address);
  if (!parts) return false;
  if (parts->host == "localhost" || parts->host == "::1") return true;
  return parts->host.starts_with("127.") && is_address(AF_INET, parts->host);
}

Read<unsigned> read_mode(std::string_view text) {
  unsigned mode = 0;
  const char* const end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, mode, 8);
  const bool formed = !text.empty() && error == std::errc() && last == end && mode <= 0777;
  if (formed && mode != 0) return mode;
  return wrong("not permissions; allowed: octal digits, such as \"0660\"");
}

}  // namespace h2server::config
