// Exchange: one request and its response, used again for the next.
#pragma once

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
  Response response;
  OutgoingBody outgoing;  // of response

  void clear() noexcept {
    outgoing.clear();
    response.clear();
    params.clear();
    head.clear();
    arena.clear();
  }
};

}  // namespace h2server::http
