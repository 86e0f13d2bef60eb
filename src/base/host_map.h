// HostMap: values by the names of hosts, as they stand in Host, :authority and SNI.
//
// Filled before the server starts, then only read, by any thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/text/text.h"

namespace h2server::base {

// Returns the host of an authority (RFC 3986, 3.2) such as "example.com:8080" or "[::1]:80",
// without the dot that ends a full name (RFC 1034, 3.1).
constexpr std::string_view host_of(std::string_view authority) noexcept {
  std::string_view host = authority.substr(0, authority.find(':'));
  if (authority.starts_with('[')) {
    host = authority.substr(0, std::min(authority.find(']'), authority.size() - 1) + 1);
  }
  if (host.ends_with('.')) host.remove_suffix(1);
  return host;
}

// The same in lower case.
inline std::string lower_host_of(std::string_view authority) {
  std::string host(host_of(authority));
  std::ranges::transform(host, host.begin(), to_lower);
  return host;
}

template <class T>
class HostMap {
 public:
  // Returns the value of that name as it was added, or null. `name` has no port.
  [[nodiscard]] const T* find_added(std::string_view name) const {
    const auto found = values_.find(key_of(name));
    return found != values_.end() ? &found->second : nullptr;
  }
  // "*.example.com" stands for every name that ends with ".example.com" and has no closer match.
  // Replaces the value of a name that is there.
  void set(std::string_view name, T value) {
    has_wildcards_ |= name.starts_with("*.");
    values_.insert_or_assign(key_of(name), std::move(value));
  }

  // Returns the value for an authority, whose port does not count, or null. Allocates nothing.
  [[nodiscard]] const T* find(std::string_view authority) const noexcept {
    constexpr std::size_t name_bytes_max = 255;  // RFC 1035, 3.1
    const std::string_view host = host_of(authority);
    // A dot in front could be taken for the key of a wildcard.
    if (host.empty() || host.size() > name_bytes_max || host.starts_with('.')) return nullptr;
    std::array<char, name_bytes_max> lower;
    std::ranges::transform(host, lower.begin(), to_lower);
    const std::string_view name(lower.data(), host.size());
    const auto found = values_.find(name);
    if (found != values_.end()) return &found->second;
    if (!has_wildcards_) return nullptr;
    for (std::size_t dot = name.find('.'); dot != name.npos; dot = name.find('.', dot + 1)) {
      const auto wildcard = values_.find(name.substr(dot));
      if (wildcard != values_.end()) return &wildcard->second;
    }
    return nullptr;
  }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept {
      return std::hash<std::string_view>()(text);
    }
  };

  static std::string key_of(std::string_view name) {
    if (name.starts_with("*.")) name.remove_prefix(1);
    if (name.ends_with('.')) name.remove_suffix(1);
    std::string key(name);
    std::ranges::transform(key, key.begin(), to_lower);
    return key;
  }

  std::unordered_map<std::string, T, Hash, std::equal_to<>> values_;  // "*.a.b" has the key ".a.b"
  bool has_wildcards_ = false;
};

}  // namespace h2server::base
