// Exchange: one request and its response, used again for the next.
//
// The request lives until the last byte of the response's body has been handed over or given up, so
// the source of a body may keep a reference to it and read the request's body.
#pragma once

#include <optional>
#include <string>

#include "base/arena.h"
#include "base/pool.h"
#include "h2server/request.h"
#include "h2server/response.h"
#include "http/outgoing_body.h"

namespace h2server::http {

struct Exchange {
  base::Arena arena;
  RequestHead head;
  PathParams params;
  const std::string* route = nullptr;  // the pattern of its handler
  std::optional<Request> request;      // once there is a handler for it
  Response response;
  OutgoingBody outgoing;  // of response

  void clear() noexcept {
    outgoing.clear();
    response.clear();  // before the request, which the source of its body may refer to
    request.reset();
    route = nullptr;
    params.clear();
    head.clear();
    arena.clear();
  }
};

}  // namespace h2server::http
