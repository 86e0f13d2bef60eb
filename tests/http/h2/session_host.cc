#include "http/h2/session_host.h"

#include <algorithm>
#include <stdexcept>

#include "http/h2/frames.h"

namespace h2server::http::h2 {

namespace {

const std::vector<Field> fields = {{":status", "200"}, {"x", "y"}};

}  // namespace

SessionHost::SessionHost(Http2Implementation implementation, const Limits& given)
    : limits(given), implementation_(implementation) {
  open();
}

void SessionHost::open() {
  close();
  session = make_session(implementation_, limits, exchanges_, windows);
}

void SessionHost::close() {
  session.reset();
  for (H2Exchange* const exchange : alive) release(exchange);
  alive.clear();
  received.clear();
  log.clear();
}

bool SessionHost::receive(std::string_view bytes, std::size_t step) {
  while (!bytes.empty() && !session->failed()) {
    const std::string piece(bytes.substr(0, step));  // own buffer: shows overreads
    session->receive(piece, now_ms);
    note_events();
    bytes.remove_prefix(piece.size());
  }
  return !session->failed();
}

void SessionHost::note_events() {
  for (SessionEvent event; session->next(event);) note(event);
}

std::string SessionHost::take(std::size_t bytes_max) {
  session->produce(bytes_max);
  note_events();
  std::string all;
  base::BufferChain& out = session->output();
  for (; !out.empty(); out.consume(out.front().size())) all += out.front();
  return all;
}

void SessionHost::settle(Nghttp2Client& client) {
  for (;;) {
    const std::string to_server = client.bytes();
    receive(to_server);
    const std::string to_client = take();
    client.receive(to_client);
    if (to_server.empty() && to_client.empty()) break;
  }
}

bool SessionHost::has(std::uint32_t id) const {
  return std::ranges::any_of(alive, [id](const H2Exchange* one) { return one->id == id; });
}

H2Exchange& SessionHost::exchange(std::uint32_t id) {
  for (H2Exchange* const one : alive) {
    if (one->id == id) return *one;
  }
  throw std::out_of_range("no such stream");
}

void SessionHost::respond(std::uint32_t id, Response response) {
  H2Exchange& one = exchange(id);
  one.response = std::move(response);
  one.outgoing.open(one.response, {.inline_bytes_max = 8192});
  session->respond(one, {.fields = fields}, true);
}

void SessionHost::respond(std::uint32_t id) {
  session->respond(exchange(id), {.fields = fields}, false);
}

void SessionHost::note(const SessionEvent& event) {
  using Kind = SessionEvent::Kind;
  H2Exchange* const one = event.exchange;
  const bool more_data = event.kind == Kind::data && last_data_ == one;
  last_data_ = event.kind == Kind::data ? one : nullptr;
  const std::size_t before = log.size();
  log += std::to_string(one->id);
  switch (event.kind) {
    case Kind::request:
      alive.insert(one);
      log += " " + std::string(one->head.method_name) + " " + std::string(one->head.target);
      if (one->id == last) session->end_after(*one);
      if (answers) respond(one->id);
      break;
    case Kind::data:
      received[one->id] += event.bytes;
      if (consumes)
        session->consume(*one, event.bytes.size(), reads ? Consumed::read : Consumed::dropped);
      log += " data";
      break;
    case Kind::ended:
      log += " ended";
      break;
    case Kind::closed:
      log += " closed";
      one->handling.closed = true;
      if (keeps) break;
      alive.erase(one);
      release(one);
      break;
    case Kind::body_wanted:
      log += " taken";
      break;
  }
  log += "\n";
  if (more_data) log.resize(before);
}

void SessionHost::release(H2Exchange* exchange) {
  base::Pool<H2Exchange>::Pointer(exchange, {&exchanges_}).reset();
}

std::string name_of(Http2Implementation implementation) {
  return implementation == Http2Implementation::native ? "native" : "nghttp2";
}

std::string describe(std::string_view bytes) {
  constexpr std::array<std::string_view, 10> names = {
      "data", "headers", "priority", "reset",  "settings",
      "push", "ping",    "goaway",   "window", "continuation"};
  std::string text;
  for (const Frame& one : frames_of(bytes)) {
    const FrameHead& head = one.head;
    const auto type = static_cast<std::size_t>(head.type);
    if (!text.empty()) text += ' ';
    text += type < names.size() ? names[type] : "unknown";
    if (head.type == FrameType::goaway) {
      text += std::to_string(read_u31(one.payload.data())) + "=" +
              std::to_string(read_u32(one.payload.data() + 4));
      continue;
    }
    if (head.stream != 0) text += std::to_string(head.stream);
    if (head.type == FrameType::data) text += ":" + std::to_string(head.size);
    if (head.type == FrameType::rst_stream)
      text += "=" + std::to_string(read_u32(one.payload.data()));
    if (head.type == FrameType::window_update)
      text += "+" + std::to_string(read_u32(one.payload.data()));
    const bool acknowledges = head.type == FrameType::settings || head.type == FrameType::ping;
    if (acknowledges && head.has(flag::ack)) text += "ack";
    if (head.type <= FrameType::headers && head.has(flag::end_stream)) text += ";";
  }
  return text;
}

}  // namespace h2server::http::h2
