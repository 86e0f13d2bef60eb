// How this machine is called in its networks, and what its certificates say about it.
//
// Names are written as OpenSSL reads them: "DNS:localhost", "IP:127.0.0.1".
#pragma once

#include <string>
#include <vector>

namespace h2server::net {

struct Machine {
  std::string user;                    // who runs h2server
  std::string host;                    // its name, with or without a domain
  std::vector<std::string> addresses;  // numeric, without loopback
};

Machine this_machine();

// Returns the names and addresses that clients may use for the machine, without duplicates.
std::vector<std::string> names_of(const Machine& machine);

// Returns the constraints of an authority for local networks (RFC 5280, 4.2.1.10).
std::string name_constraints(const Machine& machine);

// Returns the common name of an authority: "h2server local CA (USER@HOST)".
std::string authority_name(const Machine& machine);

}  // namespace h2server::net
