#include "server/accept/listeners.h"

#include <fmt/format.h>

#include <algorithm>

namespace h2server::server {

namespace {

// Returns why a listener makes no sense, or an empty string.
std::string problem_of(const ListenerOptions& listener) {
  const bool has_path = !listener.unix_path.empty();
  const bool has_descriptor = !listener.descriptors.empty();
  if (int{has_path} + int{has_descriptor} + int{!listener.host.empty()} > 1) {
    return "a listener has either a host, a unix_path or a descriptor";
  }
  if (listener.unix_mode != 0 && !has_path) {
    return "a listener's unix_mode has no effect without unix_path";
  }
  if (listener.unix_mode > 0777) return "a listener's unix_mode has more than 9 bits";
  return {};
}

Result<std::vector<net::Listener>, std::string> adopt_all(const std::vector<int>& descriptors) {
  std::vector<net::Listener> list;
  for (const int descriptor : descriptors) {
    Result<net::Listener, std::string> listener = net::adopt_listener(descriptor);
    if (!listener) return std::unexpected(std::move(listener.error()));
    list.push_back(*std::move(listener));
  }
  return list;
}

}  // namespace

Result<std::vector<ListenerOptions>, std::string> listeners_of(const ServerOptions& options) {
  if (options.listeners.empty()) {
    return std::vector<ListenerOptions>{
        {.host = options.host, .port = options.port, .cleartext = options.cleartext}};
  }
  std::string problem;
  if (!options.host.empty() || options.cleartext) {
    problem = "host and cleartext have no effect beside listeners: set them there";
  }
  constexpr std::size_t listeners_max = 1000;
  if (options.listeners.size() > listeners_max) problem = "there are more than 1000 listeners";
  for (const ListenerOptions& listener : options.listeners) {
    if (problem.empty()) problem = problem_of(listener);
    const bool open = listener.proxy_protocol && is_tcp(listener);
    if (problem.empty() && open && options.trusted_proxies.empty()) {
      problem = "a TCP listener with proxy_protocol needs trusted_proxies, or anyone could claim "
                "any address";
    }
  }
  if (!problem.empty()) return std::unexpected(std::move(problem));
  return options.listeners;
}

ListenerKind kind_of(const ListenerOptions& listener, std::size_t number) noexcept {
  return {.cleartext = listener.cleartext,
          .proxy_protocol = listener.proxy_protocol,
          .number = static_cast<std::uint16_t>(number)};
}

bool is_tcp(const ListenerOptions& listener) noexcept {
  return listener.unix_path.empty() && listener.descriptors.empty();
}

Result<std::vector<net::Listener>, std::string> open_listeners(const ListenerOptions& listener,
                                                               bool reuse_port) {
  if (!listener.descriptors.empty()) return adopt_all(listener.descriptors);
  if (!listener.unix_path.empty()) {
    auto opened = net::open_unix_listener(listener.unix_path, listener.unix_mode);
    if (!opened) return std::unexpected(std::move(opened.error()));
    std::vector<net::Listener> list;
    list.push_back(*std::move(opened));
    return list;
  }
  return net::open_listeners(
      {.host = listener.host, .port = listener.port, .reuse_port = reuse_port});
}

Result<void, std::string> check_free(const ListenerOptions& listener) {
  if (listener.port == 0) return {};
  const auto probe =
      net::open_listeners({.host = listener.host, .port = listener.port, .listens = false});
  if (!probe) return std::unexpected(probe.error());
  return {};
}

}  // namespace h2server::server
