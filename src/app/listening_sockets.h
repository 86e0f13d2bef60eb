// ListeningSockets: the sockets that the program listens on, kept from one configuration to the
// next and handed to the program that takes its place, so that no connection is refused meanwhile.
//
// The main thread's; make it before there are other threads, since it reads the umask. Servers get
// copies, see ListenerOptions::descriptors.
#pragma once

#include <sys/types.h>

#include <list>
#include <optional>
#include <string>
#include <vector>

#include "config/configuration.h"
#include "h2server/options.h"
#include "h2server/result.h"
#include "net/listener.h"

namespace h2server::app {

class ListeningSockets {
 public:
  // Sockets that listen already.
  struct Inherited {
    std::string name;  // "*:8443", "[::1]:80" or "unix:PATH"; empty: as its address says
    std::vector<int> descriptors = {};  // of one name
    bool managed = false;               // by a service manager, which goes on listening
  };

  ListeningSockets();
  ListeningSockets(const ListeningSockets&) = delete;
  ListeningSockets& operator=(const ListeningSockets&) = delete;
  // Closes them, and removes the files of Unix sockets. Those of a predecessor stay until commit():
  // it goes on if this program does not start.
  ~ListeningSockets() = default;

  // Takes the sockets of a service manager, or of the program whose place this one takes. Closes
  // the descriptors; keeps copies. The error is a line for the operator.
  Result<void, std::string> adopt(const std::vector<Inherited>& all);

  // Returns how a server listens as the configuration says, and last on the admin address if there
  // is one. Opens what is not open yet; if that fails, nothing has changed. Sets the port of a
  // listener that may take the next free one. The error is a line for the operator.
  Result<std::vector<ListenerOptions>, std::string> open(config::Configuration& configuration);
  // The configuration of the last open() is served: takes over the files of Unix sockets, gives
  // them their modes, and closes the sockets that it did not ask for. Those of a service manager
  // stay, since a later configuration may ask for them.
  void commit() noexcept;
  // It is not: closes the sockets that it made.
  void close_opened() noexcept;
  // Refuses connections from now on, except on sockets of a service manager.
  void refuse() noexcept;

  // For the program that takes this one's place.
  [[nodiscard]] std::vector<Inherited> all() const;
  // Closes all, and leaves the files of Unix sockets to that program.
  void leave() noexcept;

 private:
  struct Group {
    std::string name;
    std::vector<net::Listener> sockets = {};
    bool managed = false;
    bool predecessors = false;          // its file is a predecessor's until commit()
    bool wanted = false;                // by the last open()
    bool opened = false;                // by the last open()
    std::optional<unsigned> mode = {};  // as unix_mode was when it was given; none: unknown
    unsigned wanted_mode = 0;           // by the last open()
  };
  using Groups = std::list<Group>;
  // A listener of a configuration, and its group if there is one already.
  struct Asked {
    ListenerOptions listener;
    Group* group = nullptr;
  };

  Group* find(const ListenerOptions& listener);
  Asked ask(ListenerOptions listener);
  const Group* leaving(const ListenerOptions& listener) const;
  Result<Group*, std::string> open_group(const ListenerOptions& listener, unsigned sockets,
                                         Groups& opened);
  Result<Group*, std::string> open_next_free(const ListenerOptions& listener, unsigned sockets,
                                             Groups& opened);
  static void take_over_file(Group& group);
  void give_mode(Group& group) const;

  const mode_t umask_;
  Groups groups_;
};

}  // namespace h2server::app
