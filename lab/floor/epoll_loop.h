// epoll loop of the floor server. Makes one recv and one send per turn of a connection, and no
// epoll_ctl() after the connection is registered. One thread runs it and owns every connection that
// it accepts.
#pragma once

#include <sys/epoll.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "floor/connection.h"
#include "h2server/result.h"

namespace h2server::lab::floor {

class EpollLoop {
 public:
  static Result<std::unique_ptr<EpollLoop>, std::string> open(const LoopOptions& options);

  // Use open().
  EpollLoop(const LoopOptions& options, base::Fd set);

  // Runs until options.stop is readable. The error is a message for the operator.
  Result<void, std::string> run();

 private:
  struct Client {
    Client(base::Fd accepted, const LoopOptions& options, TlsScratch& scratch)
        : socket(std::move(accepted)), connection(options, scratch) {}
    base::Fd socket;
    Connection connection;
  };
  enum class Sent { all, part, failed };

  bool watch(int descriptor, std::uint32_t events);
  Result<void, std::string> accept_all();
  void start(base::Fd accepted);
  void serve(int descriptor, std::uint32_t events);
  bool receive_all(Client& client, bool drain);
  bool send_all(Client& client);
  Sent send_some(int socket, Output& output);

  const LoopOptions options_;
  base::Fd set_;
  std::vector<std::unique_ptr<Client>> clients_;  // by descriptor
  OutputPool outputs_;
  TlsScratch scratch_;
  std::vector<char> buffer_;
  std::array<epoll_event, 512> events_{};
};

}  // namespace h2server::lab::floor
