#include "server/listeners.h"

#include <fmt/format.h>

#include <algorithm>

namespace h2server::server {

namespace {

// Returns why a listener makes no sense, or an empty string.
std::string problem_of(const ListenerOptions& listener) {
  const bool has_path = !listener.unix_path.empty();
  const bool has_descriptor = listener.descriptor != -1;
  if (int{has_path} + int{has_descriptor} + int{!listener.host.empty()} > 1) {
    return "a listener has either a host, a unix_path or a descriptor";
  }
  if (listener.unix_mode != 0 && !has_path) {
    return "a listener's unix_mode has no effect without unix_path";
  }
  if (listener.unix_mode > 0777) return "a listener's unix_mode has more than 9 bits";
  return {};
}

Result<std::vector<net::Listener>, std::string> list_of(
    Result<net::Listener, std::string> listener) {
  if (!listener) return std::unexpected(std::move(listener.error()));
  std::vector<net::Listener> list;
  list.push_back(*std::move(listener));
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
  for (const ListenerOptions& listener : options.listeners) {
    if (problem.empty()) problem = problem_of(listener);
  }
  if (!problem.empty()) return std::unexpected(std::move(problem));
  return options.listeners;
}

bool is_tcp(const ListenerOptions& listener) noexcept {
  return listener.unix_path.empty() && listener.descriptor == -1;
}

Result<std::vector<net::Listener>, std::string> open_listeners(const ListenerOptions& listener,
                                                               bool reuse_port) {
  if (listener.descriptor != -1) return list_of(net::adopt_listener(listener.descriptor));
  if (!listener.unix_path.empty()) {
    return list_of(net::open_unix_listener(listener.unix_path, listener.unix_mode));
  }
  return net::open_listeners(
      {.host = listener.host, .port = listener.port, .reuse_port = reuse_port});
}

}  // namespace h2server::server
