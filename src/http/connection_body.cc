#include "http/connection_body.h"

#include "http/service.h"

namespace h2server::http {

namespace {

io::FileCall to_warm(const OutgoingBody::FileSpan& part) {
  return io::FileCall::populate(part.file->descriptor, part.file->bytes, part.first, part.count);
}

}  // namespace

bool warm_at_once(OutgoingBody& body) {
  const std::optional<OutgoingBody::FileSpan> part = body.cold();
  if (!part || to_warm(*part).make(false) < 0) return false;
  body.warmed(*part);
  return true;
}

Task<bool> pull(io::Engine& engine, OutgoingBody& body) {
  if (const std::optional<OutgoingBody::FileSpan> part = body.cold()) {
    io::FileOp warm(engine, to_warm(*part));
    const int result = co_await warm;
    if (result < 0) co_return false;  // the file shrank, or the disk failed
    body.warmed(*part);
    co_return true;
  }
  const Result<std::string_view> piece = co_await read_source(*body.source());
  co_return piece&& body.offer(*piece);
}

}  // namespace h2server::http
