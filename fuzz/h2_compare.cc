#include "h2_compare.h"

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "h2_client.h"
#include "h2_differences.h"
#include "h2server/limits.h"
#include "http/h2/repeated_head.h"
#include "http/h2/session.h"

namespace h2server::fuzz {

namespace {

using h2server::Http2Implementation;
using http::h2::Consumed;
using http::h2::ErrorCode;
using http::h2::H2Exchange;
using http::h2::RepeatedHead;
using http::h2::SessionEvent;

constexpr Field continue_status{":status", "100"};

// High enough never to be reached: the sessions differ there, and floods have their own tests.
Limits make_limits() {
  Limits limits;
  limits.streams_max = 100'000;
  limits.idle_frames_max = limits.resets_max = 1'000'000;
  limits.frames_queued_max = limits.acks_queued_max = 1'000'000;
  limits.continuations_max = 8;  // libnghttp2's
  return limits;
}

struct Produced final : BodySource {
  Task<Result<std::string_view>> read() override { co_return std::string_view(); }
  std::span<const Field> trailers() const noexcept override { return fields; }
  std::vector<Field> fields;
};

// What the server received of a request, as text.
struct Seen {
  std::string head;
  std::string target;
  std::string content;
  std::string trailers;
  bool ended = false;
  bool closed = false;
};

// How a request is answered. Its identifier decides, so both sessions answer alike.
enum class Answer : std::uint8_t { empty, small, large, produced, late, reset, informed, never };

Answer answer_of(std::uint32_t id) { return static_cast<Answer>(id / 2 % 8); }

class Server {
 public:
  explicit Server(Http2Implementation implementation)
      : session_(make_session(implementation, limits_, exchanges_)) {}
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server() {
    session_.reset();
    for (H2Exchange* const exchange : alive_) release(exchange);
  }

  // Returns false if the connection has failed.
  bool receive(std::string_view bytes) {
    const auto exact = std::make_unique<char[]>(bytes.size());  // ASan detects overruns
    std::ranges::copy(bytes, exact.get());
    session_->receive({exact.get(), bytes.size()}, 1);
    handle_events();
    if (!session_->failed()) answer_all();
    do {
      session_->produce(1'000'000);
      handle_events();
    } while (flush() || offer_pieces());
    return !failed();
  }

  std::map<std::uint32_t, Seen> seen;
  Client client;
  bool failed() const { return session_->failed() || client.sent_away; }

 private:
  void handle_events() {
    for (SessionEvent event; session_->next(event);) handle(event);
  }
  void handle(const SessionEvent& event) {
    H2Exchange* const exchange = event.exchange;
    Seen& one = seen[exchange->id];
    switch (event.kind) {
      case SessionEvent::Kind::request:
        alive_.insert(exchange);
        unanswered_.insert(exchange->id);
        describe(*exchange, one);
        one.ended = exchange->session.ended;
        return;
      case SessionEvent::Kind::data:
        one.content += event.bytes;
        session_->consume(*exchange, event.bytes.size(), Consumed::dropped);
        return;
      case SessionEvent::Kind::ended:
        one.ended = true;
        for (const Field& field : exchange->session.trailers) append(one.trailers, field);
        return;
      case SessionEvent::Kind::closed:
        one.closed = exchange->handling.closed = true;
        alive_.erase(exchange);
        release(exchange);
        return;
      case SessionEvent::Kind::body_wanted:
        return;
    }
  }
  static void append(std::string& text, const Field& field) {
    text.append(field.name).append("=").append(field.value).append("\n");
  }
  static void describe(const H2Exchange& exchange, Seen& one) {
    const RequestHead& head = exchange.head;
    append(one.head, {":method", head.method_name});
    append(one.head, {":path", head.target});
    one.target = head.target;
    append(one.head, {":authority", head.authority});
    one.head += head.content_length ? std::to_string(*head.content_length) + "\n" : "";
    if (exchange.session.head_too_large) one.head += "too large\n";
    if (exchange.session.expects_continue) one.head += "expects\n";
    for (const Field& field : head.fields) append(one.head, field);
  }

  // Runs after the whole piece is processed: one session reports a request before it has read the
  // RST_STREAM that follows it, the other does not.
  void answer_all() {
    for (H2Exchange* const exchange : std::set(alive_)) {
      const bool waits = answer_of(exchange->id) == Answer::late && !seen[exchange->id].ended;
      if (!waits && unanswered_.erase(exchange->id) == 1) answer(*exchange);
    }
  }
  void answer(H2Exchange& exchange) {
    switch (answer_of(exchange.id)) {
      case Answer::empty:
        respond(exchange, false);
        return;
      case Answer::informed:
        session_->inform(exchange, {&continue_status, 1});
        [[fallthrough]];
      case Answer::small:
      case Answer::late:
        exchange.response = Response(200, "hello");
        respond(exchange, true);
        return;
      case Answer::large:
        exchange.response = Response(200, std::string(3000, 'x'));
        respond(exchange, true);
        return;
      case Answer::produced: {
        auto source = std::make_unique<Produced>();
        if (exchange.id % 16 != 7) source->fields = {{"sum", "1"}, {"x-sum", "2"}};
        exchange.response = Response(std::move(source), "text/plain");
        respond(exchange, true);
        return;
      }
      case Answer::reset:
        session_->reset(exchange, ErrorCode::cancel);
        return;
      case Answer::never:
        return;
    }
  }
  void respond(H2Exchange& exchange, bool has_body) {
    static const http::h2::PreparedHead prepared = {
        {http::h2::hpack::HashedField({"content-type", "text/html"})},
        http::h2::hpack::group_of(1, {{"etag", "\"abc\""}})};
    const std::array<Field, 2> plain = {
        {{":status", "404"}, {"x-method", exchange.head.method_name}}};
    const std::array<Field, 1> date = {{{"date", "Sun, 06 Nov 1994 08:49:37 GMT"}}};
    if (has_body) exchange.outgoing.open(exchange.response, {.inline_bytes_max = 8192});
    if (exchange.id % 4 == 1) {
      session_->respond(exchange, {.prepared = &prepared, .fields = date}, has_body);
    } else {
      session_->respond(exchange, {.fields = plain}, has_body);
    }
  }
  // Returns true if anything was offered.
  bool offer_pieces() {
    static const std::array<std::string, 3> pieces = {"abc", std::string(1000, 'y'), ""};
    bool offered = false;
    for (H2Exchange* const exchange : std::set(alive_)) {
      http::OutgoingBody& body = exchange->outgoing;
      if (!body.is_pulled() || body.finished() || body.next_size(1) > 0) continue;
      const auto result = body.offer(pieces.at(offered_[exchange->id]++));
      if (result) session_->body_offered(*exchange);
      offered = true;
    }
    return offered;
  }
  bool flush() {
    base::BufferChain& out = session_->output();
    const bool any = !out.empty();
    std::string bytes;
    for (; !out.empty(); out.consume(out.front().size())) bytes += out.front();
    client.receive(bytes);
    return any;
  }
  void release(H2Exchange* exchange) {
    base::Pool<H2Exchange>::Pointer(exchange, {&exchanges_}).reset();
  }

  const Limits limits_ = make_limits();
  base::Pool<H2Exchange> exchanges_;
  std::unique_ptr<http::h2::Session> session_;
  std::set<H2Exchange*> alive_;
  std::set<std::uint32_t> unanswered_;
  std::map<std::uint32_t, std::size_t> offered_;  // pieces
};

// --- the comparison ---------------------------------------------------------------------------

class Comparison {
 public:
  Comparison(const Server& native, const Server& other) : native_(native), other_(other) {}

  std::string run() {
    check(native_.client.problem.empty() && other_.client.problem.empty(),
          "the output: " + native_.client.problem + " | " + other_.client.problem);
    check(native_.failed() == other_.failed(),
          std::string("failed: ") + (native_.failed() ? "native" : "nghttp2") + " only, by code " +
              std::to_string(native_.client.goaway_code + other_.client.goaway_code));
    std::set<std::uint32_t> ids;
    for (const Server* const server : {&native_, &other_}) {
      for (const auto& [id, one] : server->seen) ids.insert(id);
      for (const auto& [id, one] : server->client.answers) ids.insert(id);
    }
    for (const std::uint32_t id : ids) compare_stream(id);
    return text_;
  }

 private:
  void check(bool good, const std::string& what) {
    if (!good) text_ += what + "\n";
  }
  static bool is_control(char c) {
    return (static_cast<unsigned char>(c) < ' ' && c != '\n') || c == 0x7f;
  }
  static bool is_path(std::string_view target) {
    return nghttp2_check_path(reinterpret_cast<const std::uint8_t*>(target.data()),
                              target.size()) != 0;
  }
  template <class Map>
  static typename Map::mapped_type get(const Map& map, std::uint32_t id) {
    const auto found = map.find(id);
    return found == map.end() ? typename Map::mapped_type() : found->second;
  }

  void compare_stream(std::uint32_t id) {
    const std::string name = "stream " + std::to_string(id) + ": ";
    const Seen a = get(native_.seen, id);
    const Seen b = get(other_.seen, id);
    const Client::Answer x = get(native_.client.answers, id);
    const Client::Answer y = get(other_.client.answers, id);
    // When a connection fails, libnghttp2 drops its pending output for streams. It also checks
    // fields while it decodes them, so it resets a stream whose block then ends the connection.
    if (native_.failed() && other_.failed() && x.reset != y.reset) return;
    // A target that is not a path: libnghttp2 resets the stream, the native session answers 400.
    if (b.head.empty() && !a.target.empty() && !is_path(a.target)) return;
    // RFC 9110, 5.5: control characters MAY be retained. libnghttp2 treats them as malformed.
    if (b.head.empty() && std::ranges::any_of(a.head, is_control)) return;
    // A head that is too large gets 431, whatever other errors it has.
    if (y.reset && b.head.empty() && a.head.find("\ntoo large\n") != std::string::npos) return;
    // The same holds for trailers. The native session does not report trailers that arrive after
    // the complete response.
    const bool unseen = a.closed && !a.ended && x.ended;
    if (y.reset && !x.reset && (unseen || std::ranges::any_of(a.trailers, is_control))) return;
    const bool only_one = a.head.empty() != b.head.empty();
    if (native_.failed() && other_.failed() && only_one) return;
    check(a.head == b.head, name + "request\n" + a.head + "--\n" + b.head);
    check(x.reset == y.reset, name + "reset by " + (x.reset ? "native" : "nghttp2") +
                                  " only, by code " + std::to_string(x.reset_code + y.reset_code));
    if (x.reset || y.reset) {
      check(a.content.starts_with(b.content) || b.content.starts_with(a.content), name + "content");
      return;
    }
    // A session that detects an error in a frame's head fails one piece earlier than one that waits
    // for the payload. It may then not have sent what the other sent about its streams.
    const bool both_failed = native_.failed() && other_.failed();
    const bool said =
        a.ended == b.ended && a.content == b.content && x.ended == y.ended && x.fields == y.fields;
    if (both_failed && !said) return;
    check(a.content == b.content, name + "content\n" + a.content + "--\n" + b.content);
    // For a request answered before its end the native session reports only `closed`.
    const bool untold = a.closed && b.closed && !a.ended && b.ended && a.trailers.empty();
    check(untold || a.trailers == b.trailers,
          name + "trailers\n" + a.trailers + "--\n" + b.trailers);
    check(untold || a.ended == b.ended, name + "request ended");
    check(x.fields == y.fields, name + "response\n" + x.fields + "--\n" + y.fields);
    check(x.continued == y.continued, name + "100");
    compare_body(name, x, y);
  }

  void compare_body(const std::string& name, const Client::Answer& x, const Client::Answer& y) {
    // Priorities decide how the connection's window is shared.
    const bool scarce = native_.client.content_bytes > 60'000;
    if (scarce) return;
    check(x.body == y.body, name + "body of " + std::to_string(x.body.size()) + " and " +
                                std::to_string(y.body.size()) + " bytes");
    // Without window libnghttp2 does not ask whether a produced body has ended, so the end of the
    // body, which needs no window, is delayed.
    const bool waits = x.ended && !y.ended && x.body.size() == 1003 && native_.client.small_window;
    if (waits) return;
    check(x.ended == y.ended, name + "response ended");
    check(x.trailers == y.trailers, name + "response's trailers");
  }

  const Server& native_;
  const Server& other_;
  std::string text_;
};

}  // namespace

std::string compare_h2(std::string_view input) {
  RepeatedHead::of_thread() = RepeatedHead();  // an input behaves alike after any other
  constexpr std::array<std::size_t, 4> steps = {SIZE_MAX, 1, 7, 50};
  std::size_t control = input.size() % 4 * 2;
  std::string bytes;
  if (!input.starts_with("PRI")) {
    control = input.empty() ? 0 : static_cast<unsigned char>(input[0]);
    input.remove_prefix(std::min<std::size_t>(1, input.size()));
    if (control % 2 == 1) {
      bytes.append(http::h2::preface).append(std::string_view("\0\0\0\x04\0\0\0\0\0", 9));
    }
  }
  bytes += input;
  if (bytes.starts_with(http::h2::preface)) neutralize(bytes);
  Server native(Http2Implementation::native);
  Server other(Http2Implementation::nghttp2);
  native.client.expect_settings(bytes);
  other.client.expect_settings(bytes);
  const std::size_t step = steps.at(control / 2 % 4);
  for (Server* const server : {&native, &other}) {
    bool more = true;
    for (std::size_t at = 0; more && at < bytes.size();) {
      const std::size_t end = next_cut(bytes, at + std::min(step, bytes.size() - at));
      more = server->receive(std::string_view(bytes).substr(at, end - at));
      at = end;
    }
  }
  return Comparison(native, other).run();
}

}  // namespace h2server::fuzz
