// Router: maps a method and a path to a handler.
//
// A tree of path segments. At each level a static child is tried first, then the one parameter
// child, then a rest parameter. If a branch has no handler for the method, the next one is tried.
// Filled before the server starts, then only read, by all workers.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "h2server/handler.h"
#include "h2server/message.h"
#include "h2server/middleware.h"
#include "h2server/result.h"

namespace h2server::http {

class Router {
 public:
  struct Match {
    const Handler* handler = nullptr;  // null: no such path, or no such method on it
    // Around the handler; null: none. Without a handler that of the first pattern that matches.
    const MiddlewareChain* chain = nullptr;
    const std::string* pattern = nullptr;  // the handler's
    // Bit (1 << Method) for each method of the patterns that match, and for OPTIONS, which needs no
    // handler; 0: no such path. Complete if `handler` is null.
    std::uint16_t methods = 0;
  };

  Router();
  ~Router();

  // Patterns: "/files/{name}" matches one segment that is not empty, "/static/{path...}" matches
  // the rest of the path, which may be empty. The error says what is wrong with the pattern.
  Result<void, std::string> add(Method method, std::string_view pattern, Handler handler,
                                MiddlewareChainRef chain = nullptr);

  // HEAD finds GET's handler if it has none of its own. Does not allocate. `params` point into
  // `path` and into the router.
  [[nodiscard]] Match find(Method method, std::string_view path, PathParams& params) const;

 private:
  struct Route;
  struct Node;
  struct Search;

  static const Route* search(const Node& node, Search& state, std::string_view rest);

  std::unique_ptr<Node> root_;
};

// Returns the value of Allow (RFC 9110, 10.2.1): "GET, HEAD, POST".
std::string allow_value(std::uint16_t methods);

}  // namespace h2server::http
