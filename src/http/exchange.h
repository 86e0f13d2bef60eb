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
    response = Response();
    params.clear();
    Fields fields = std::move(head.fields);  // keeps its memory
    fields.clear();
    head = RequestHead();
    head.fields = std::move(fields);
    arena.clear();
  }
};

}  // namespace h2server::http
