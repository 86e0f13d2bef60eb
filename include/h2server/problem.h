// Problem: an error that a program can read (RFC 9457). Response::problem() sends it as
// application/problem+json.
#pragma once

#include <string>
#include <vector>

#pragma GCC visibility push(default)
namespace h2server {

struct Problem {
  struct Member {
    std::string name;
    std::string json;  // a complete JSON value, for instance of json_string(); sent as it is
  };

  int status = 500;
  // A URI reference that names the kind of problem. Empty: "about:blank", which says no more than
  // the status.
  std::string type = {};
  // The same for all problems of a type. Empty without a type: the status's reason phrase.
  std::string title = {};
  std::string detail = {};    // about this occurrence, for people; empty: none
  std::string instance = {};  // a URI reference that names this occurrence; empty: none
  std::vector<Member> extensions = {};
};

}  // namespace h2server
#pragma GCC visibility pop
