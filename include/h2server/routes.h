// Routes: where routes are added, with a prefix and middleware in common.
//
//   Routes api = server.group("/api").with(basic_authentication("notes", check));
//   api.get("/notes", list);
//   api.post("/notes", create);
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "h2server/handler.h"
#include "h2server/message.h"
#include "h2server/middleware.h"

#pragma GCC visibility push(default)
namespace h2server {

class RouteSink;

// A value; copies add to the same server, which must outlive them.
class Routes {
 public:
  // The same routes with one more middleware, inside of those before.
  [[nodiscard]] Routes with(Middleware middleware) const;
  // The same below a prefix, such as "/api". It begins with '/' and does not end with one.
  [[nodiscard]] Routes group(std::string_view prefix) const;
  // Adds a middleware to all routes that are added by this object from now on.
  Routes& use(Middleware middleware);

  // Patterns: "/files/{file_name}" has a parameter, "/{path...}" takes the rest of a path. A fixed
  // segment is preferred to a parameter, and that to a rest. HEAD uses the handler of GET, and
  // OPTIONS and 405 with Allow need none. Throws std::invalid_argument if the pattern is invalid or
  // taken or the handler is empty, and std::logic_error while the server runs or after wait()
  // returned false.
  Routes& route(std::initializer_list<Method> methods, std::string_view pattern,
                const Handler& handler);
  Routes& get(std::string_view pattern, const Handler& handler) {
    return route({GET}, pattern, handler);
  }
  Routes& post(std::string_view pattern, const Handler& handler) {
    return route({POST}, pattern, handler);
  }
  Routes& put(std::string_view pattern, const Handler& handler) {
    return route({PUT}, pattern, handler);
  }
  Routes& patch(std::string_view pattern, const Handler& handler) {
    return route({PATCH}, pattern, handler);
  }
  Routes& del(std::string_view pattern, const Handler& handler) {
    return route({DELETE}, pattern, handler);
  }
  // GET, POST, PUT, PATCH and DELETE.
  Routes& any(std::string_view pattern, const Handler& handler) {
    return route({GET, POST, PUT, PATCH, DELETE}, pattern, handler);
  }

  // For the library itself. `host` is empty for the routes of all other hosts.
  Routes(RouteSink& sink, std::string host, MiddlewareChainRef chain);
  [[nodiscard]] const MiddlewareChainRef& chain() const noexcept { return chain_; }

 private:
  RouteSink* sink_;
  std::string host_;
  std::string prefix_;
  MiddlewareChainRef chain_;
};

// Takes routes; implemented by the library.
class RouteSink {
 public:
  // Throws as Routes::route().
  virtual void add_route(const std::string& host, Method method, std::string_view pattern,
                         const Handler& handler, const MiddlewareChainRef& chain) = 0;

 protected:
  ~RouteSink() = default;
};

}  // namespace h2server
#pragma GCC visibility pop
