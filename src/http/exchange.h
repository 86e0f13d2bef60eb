// Exchange: one request and its response, reused for the next one.
//
// The request lives until the last byte of the response's body has been handed over or abandoned,
// so the body's source may keep a reference to the request and read its body.
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
  const std::string* route = nullptr;  // the pattern of the handler
  std::optional<Request> request;      // set when a handler has been found
  Response response;
  OutgoingBody outgoing;  // of response

  void clear() noexcept {
    outgoing.clear();
    response.clear();  // before the request, to which the body's source may refer
    request.reset();
    route = nullptr;
    params.clear();
    head.clear();
    arena.clear();
  }
};

}  // namespace h2server::http
