#include "app/listening_sockets.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

#include "app/admin/admin_access.h"
#include "base/log.h"
#include "net/port_trial.h"
#include "net/socket_address.h"
#include "server/accept/listeners.h"
#include "server/schemes/scheme.h"

namespace h2server::app {

namespace {

using OpenListeners = Result<std::vector<net::Listener>, std::string>;

std::string socket_name(const ListenerOptions& listener) {
  if (!listener.unix_path.empty()) return "unix:" + listener.unix_path;
  const bool ipv6 = listener.host.contains(':');
  return fmt::format("{}{}{}:{}", ipv6 ? "[" : "", listener.host.empty() ? "*" : listener.host,
                     ipv6 ? "]" : "", listener.port);
}

// Returns true if a socket of that address is what the listener asks for.
bool serves(const Address& address, const ListenerOptions& listener) {
  if (!listener.unix_path.empty() || !address.path.empty()) {
    return address.path == listener.unix_path;
  }
  const bool wildcard = address.host == "::" || address.host == "0.0.0.0";
  const bool same_host = listener.host.empty() ? wildcard : address.host == listener.host;
  return same_host && address.port == listener.port;
}

bool shares_port(const net::Listener& listener) {
  int value = 0;
  socklen_t size = sizeof value;
  return ::getsockopt(listener.socket.get(), SOL_SOCKET, SO_REUSEPORT, &value, &size) == 0 &&
         value != 0;
}

// Opens so many sockets for each address; of a path there is only one. With `beside_own`, also if
// other sockets of this program that share their port are in the way.
OpenListeners open_sockets(ListenerOptions listener, unsigned sockets, bool beside_own) {
  const bool several = sockets > 0 && listener.unix_path.empty();
  if (!several) {
    OpenListeners one = server::open_listeners(listener, /*reuse_port=*/false);
    if (one || !beside_own) return one;
  } else {
    const Result<void, std::string> free = server::check_free(listener);
    if (!free && !beside_own) return std::unexpected(free.error());
  }
  std::vector<net::Listener> all;
  for (unsigned i = 0; i < std::max(sockets, 1U); ++i) {
    OpenListeners more = server::open_listeners(listener, /*reuse_port=*/true);
    if (!more) return more;
    listener.port = more->front().address.port;
    std::ranges::move(*more, std::back_inserter(all));
  }
  return all;
}

// How many sockets of a port the scheme's workers share out; 0: one, without SO_REUSEPORT.
unsigned sockets_of(const ServerOptions& options) {
  if (options.scheme != ServerScheme::reuseport) return 0;
  return options.threads == 0 ? server::kind_of(options.scheme).workers : options.threads;
}

ListenerOptions options_of(const config::Listener& listener) {
  return {.host = listener.host,
          .port = listener.port,
          .unix_path = listener.unix_path,
          .unix_mode = listener.unix_mode,
          .cleartext = listener.cleartext,
          .proxy_protocol = listener.proxy_protocol};
}

// Returns the first free port from `wanted` on, or that one if none of the next is free.
std::uint16_t choose_port(const std::string& host, std::uint16_t wanted) {
  constexpr std::uint16_t tries = 20;
  for (std::uint16_t port = wanted; port < wanted + tries; ++port) {
    if (net::try_port(host, port) == 0) return port;
  }
  return wanted;
}

// There is no call that only reads it.
mode_t read_umask() {
  const mode_t value = ::umask(0);
  ::umask(value);
  return value;
}

// How a server listens on the sockets of a group.
ListenerOptions on_sockets(ListenerOptions listener, const std::vector<net::Listener>& sockets) {
  for (const net::Listener& one : sockets) listener.descriptors.push_back(one.socket.get());
  // It has descriptors instead.
  listener.host.clear();
  listener.unix_path.clear();
  listener.unix_mode = 0;
  return listener;
}

}  // namespace

ListeningSockets::ListeningSockets() : umask_(read_umask()) {}

Result<void, std::string> ListeningSockets::adopt(const std::vector<Inherited>& all) {
  for (const Inherited& one : all) {
    Group group{.name = one.name, .managed = one.managed};
    for (const int descriptor : one.descriptors) {
      Result<net::Listener, std::string> listener = net::adopt_listener(descriptor);
      if (!listener) return std::unexpected(std::move(listener.error()));
      group.predecessors = !one.managed && !listener->address.path.empty();
      group.sockets.push_back(*std::move(listener));
      ::close(descriptor);
    }
    if (!group.sockets.empty()) groups_.push_back(std::move(group));
  }
  return {};
}

ListeningSockets::Group* ListeningSockets::find(const ListenerOptions& listener) {
  const auto found = std::ranges::find_if(groups_, [&](const Group& group) {
    if (group.wanted) return false;
    return group.name.empty() ? serves(group.sockets.front().address, listener)
                              : group.name == socket_name(listener);
  });
  return found != groups_.end() ? &*found : nullptr;
}

ListeningSockets::Asked ListeningSockets::ask(ListenerOptions listener) {
  Group* const group = find(listener);
  if (group != nullptr) {
    group->wanted = true;
    group->wanted_mode = listener.unix_mode;
  }
  return {std::move(listener), group};
}

// Returns a group on the listener's port that commit() will close; null: there is none. Once all
// listeners of a configuration were asked for.
const ListeningSockets::Group* ListeningSockets::leaving(const ListenerOptions& listener) const {
  if (listener.port == 0 || !listener.unix_path.empty()) return nullptr;
  const auto found = std::ranges::find_if(groups_, [&](const Group& group) {
    const Address& address = group.sockets.front().address;
    return !group.wanted && !group.managed && address.path.empty() && address.port == listener.port;
  });
  return found != groups_.end() ? &*found : nullptr;
}

Result<ListeningSockets::Group*, std::string> ListeningSockets::open_group(
    const ListenerOptions& listener, unsigned sockets, Groups& opened) {
  const Group* const own = leaving(listener);
  const bool beside_own = own != nullptr && shares_port(own->sockets.front());
  OpenListeners fresh = open_sockets(listener, sockets, beside_own);
  if (!fresh && own != nullptr && !beside_own) {
    return std::unexpected(fmt::format("{} (this server itself listens on {} until the new "
                                       "configuration serves: restart it for this change)",
                                       fresh.error(), own->name));
  }
  if (!fresh) return std::unexpected(std::move(fresh.error()));
  return &opened.emplace_back(Group{.name = socket_name(listener),
                                    .sockets = *std::move(fresh),
                                    .wanted = true,
                                    .opened = true,
                                    .mode = listener.unix_mode,
                                    .wanted_mode = listener.unix_mode});
}

Result<ListeningSockets::Group*, std::string> ListeningSockets::open_next_free(
    const ListenerOptions& listener, unsigned sockets, Groups& opened) {
  Result<Group*, std::string> made = std::unexpected(std::string());
  // Another host does not need another port.
  if (leaving(listener) != nullptr) made = open_group(listener, sockets, opened);
  if (made) return made;
  ListenerOptions next = listener;
  std::uint16_t tried;
  do {  // another program may take a port after it was chosen
    tried = next.port = choose_port(listener.host, listener.port);
    made = open_group(next, sockets, opened);
  } while (!made && choose_port(listener.host, listener.port) != tried);
  if (made) (*made)->name = socket_name(listener);
  return made;
}

Result<std::vector<ListenerOptions>, std::string> ListeningSockets::open(
    config::Configuration& configuration) {
  for (Group& group : groups_) group.wanted = false;
  std::vector<Asked> asked;
  for (const config::Listener& listener : configuration.listeners) {
    asked.push_back(ask(options_of(listener)));
  }
  const std::string& admin = configuration.admin.address;
  if (!admin.empty()) asked.push_back(ask(admin_listener(admin)));
  Groups opened;
  std::vector<ListenerOptions> all;
  const unsigned sockets = sockets_of(configuration.server);
  for (std::size_t i = 0; i < asked.size(); ++i) {
    auto& [wanted, group] = asked[i];
    const bool is_admin = i == configuration.listeners.size();
    const bool any_port = !is_admin && !configuration.port_given;
    if (group == nullptr) {
      const auto made = any_port ? open_next_free(wanted, sockets, opened)
                                 : open_group(wanted, is_admin ? 0 : sockets, opened);
      if (!made && is_admin) return std::unexpected("admin listener: " + made.error());
      // Of a path, neither has a say.
      if (!made && !wanted.unix_path.empty()) return std::unexpected(made.error());
      if (!made) return std::unexpected(made.error() + " (--host and --port name another place)");
      group = *made;
    }
    if (any_port) configuration.listeners[i].port = group->sockets.front().address.port;
    all.push_back(on_sockets(std::move(wanted), group->sockets));
  }
  groups_.splice(groups_.end(), opened);
  return all;
}

void ListeningSockets::take_over_file(Group& group) {
  if (!std::exchange(group.predecessors, false)) return;
  std::vector<net::Listener> sockets;
  for (net::Listener& one : group.sockets) {
    net::SocketFile file = net::SocketFile::take_over(one.address.path);
    sockets.push_back({std::move(one.socket), std::move(one.address), std::move(file)});
  }
  group.sockets = std::move(sockets);
}

// Gives a file the mode that the configuration has now; open_group() gives only the first one.
void ListeningSockets::give_mode(Group& group) const {
  const std::string& path = group.sockets.front().address.path;
  const unsigned wanted = group.wanted_mode;
  // What a predecessor's umask or the operator has decided stays.
  const bool stays = group.mode == wanted || (!group.mode && wanted == 0);
  group.mode = wanted;
  if (stays || path.empty() || group.managed) return;
  const mode_t mode = wanted != 0 ? wanted : 0777 & ~umask_;
  if (::fchmodat(AT_FDCWD, path.c_str(), mode, AT_SYMLINK_NOFOLLOW) == 0) return;
  base::log_error("can't change the mode of {}: {}", path, std::strerror(errno));
}

void ListeningSockets::commit() noexcept {
  for (Group& group : groups_) take_over_file(group);
  std::erase_if(groups_, [](const Group& group) { return !group.wanted && !group.managed; });
  for (Group& group : groups_) {
    if (group.wanted) give_mode(group);
    group.opened = false;
  }
}

void ListeningSockets::close_opened() noexcept {
  std::erase_if(groups_, [](const Group& group) { return group.opened; });
}

void ListeningSockets::refuse() noexcept {
  for (const Group& group : groups_) {
    if (group.managed) continue;
    // ENOTCONN: it was shut down before.
    for (const net::Listener& one : group.sockets) ::shutdown(one.socket.get(), SHUT_RDWR);
  }
}

std::vector<ListeningSockets::Inherited> ListeningSockets::all() const {
  std::vector<Inherited> list;
  for (const Group& group : groups_) {
    Inherited one{.name = group.name, .managed = group.managed};
    for (const net::Listener& socket : group.sockets) {
      one.descriptors.push_back(socket.socket.get());
    }
    list.push_back(std::move(one));
  }
  return list;
}

void ListeningSockets::leave() noexcept {
  for (Group& group : groups_) {
    for (net::Listener& one : group.sockets) one.file.leave();
  }
  groups_.clear();
}

}  // namespace h2server::app
