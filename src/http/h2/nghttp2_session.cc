#include "http/h2/session.h"

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>
#include <vector>

#include "base/c_callback.h"
#include "base/out_of_memory.h"
#include "http/fields/trailers.h"
#include "http/h2/flood_guard.h"
#include "http/h2/frame_heads.h"
#include "http/h2/incoming_content.h"
#include "http/h2/request_head.h"
#include "http/h2/skipped_streams.h"

namespace h2server::http::h2 {

namespace {

struct Free {
  void operator()(nghttp2_session* session) const noexcept { nghttp2_session_del(session); }
  void operator()(nghttp2_option* options) const noexcept { nghttp2_option_del(options); }
  void operator()(nghttp2_session_callbacks* set) const noexcept {
    nghttp2_session_callbacks_del(set);
  }
};

class Nghttp2Session final : public Session {
 public:
  Nghttp2Session(const Limits& limits, base::Pool<H2Exchange>& exchanges, WindowBudget* windows);
  ~Nghttp2Session() override;

  void receive(std::string_view bytes, std::int64_t now_ms) override;
  bool next(SessionEvent& event) override;
  void produce(std::size_t bytes_max) override;
  base::BufferChain& output() noexcept override { return out_; }
  bool failed() const noexcept override { return failed_; }
  ConnectionError error() const noexcept override { return guard_.error_of(error_); }
  bool finished() const noexcept override;
  bool acknowledged() const noexcept override { return acknowledged_; }
  std::uint32_t unfinished_block() const noexcept override { return in_block_ ? frames_ : 0; }
  bool awaits_window(const H2Exchange& exchange) const noexcept override;
  bool awaits_window() const noexcept override;
  bool may_receive() const noexcept override;
  std::uint32_t unread() const noexcept override { return content_.unread(); }
  void respond(H2Exchange& exchange, const ResponseHead& head, bool has_body) override;
  void inform(H2Exchange& exchange, std::span<const Field> fields) override;
  void body_offered(H2Exchange& exchange) override;
  void consume(H2Exchange& exchange, std::size_t bytes, Consumed by) override;
  void reset(H2Exchange& exchange, ErrorCode code) override;
  void drain() override;
  void end_after(const H2Exchange& exchange) override;
  void terminate(ErrorCode code) override;

 private:
  // The library's callbacks, in the order of a stream's life.
  struct Callbacks;

  void add_event(SessionEvent::Kind kind, H2Exchange* exchange, std::string_view bytes = {}) {
    events_.push_back({kind, exchange, bytes});
  }
  H2Exchange* exchange_of(std::int32_t id) const noexcept {
    return static_cast<H2Exchange*>(nghttp2_session_get_stream_user_data(session_.get(), id));
  }
  bool allow_reset(std::uint32_t id) noexcept {
    const H2Exchange* const exchange = exchange_of(static_cast<std::int32_t>(id));
    return guard_.allow_reset(exchange != nullptr ? exchange->stop.work() : 0);
  }
  void begin_headers(H2Exchange& exchange) {
    headers_.clear();
    ++exchange.session.heads_queued;
  }
  void add_header(const Field& field);
  bool submit_trailers(H2Exchange& exchange);
  void widen(H2Exchange& exchange, Consumed by);
  void widen_connection();
  void resize_window(std::int32_t id, std::int32_t bytes) {
    check(nghttp2_session_set_local_window_size(session_.get(), NGHTTP2_FLAG_NONE, id, bytes));
  }
  std::size_t frames_queued() const noexcept {
    return nghttp2_session_get_outbound_queue_size(session_.get());
  }
  void check(ssize_t verdict) noexcept;
  bool allow(const FrameHead& head) noexcept;
  bool is_gone(std::uint32_t id) const noexcept;

  const Limits& limits_;
  base::Pool<H2Exchange>& exchanges_;
  std::unique_ptr<nghttp2_session, Free> session_;
  std::vector<H2Exchange*> incomplete_;  // whose head is incomplete; owned here
  std::vector<nghttp2_nv> headers_;      // of the response being submitted
  std::vector<SessionEvent> events_;
  std::size_t delivered_ = 0;  // events already delivered
  base::BufferChain out_;
  RequestHeadBuilder builder_;
  FrameHeads heads_;
  FloodGuard guard_;
  IncomingContent content_;
  std::uint32_t last_head_id_ = 0;        // highest one seen in HEADERS
  std::vector<std::int32_t> own_resets_;  // streams reset at the connection's request
  SkippedStreams skipped_;
  std::size_t out_bytes_max_ = 0;
  bool draining_ = false;
  bool pinged_ = false;
  bool awaits_ack_ = false;  // of the PING after the first GOAWAY
  bool acknowledged_ = false;
  std::uint32_t frames_ = 1;       // begun so far, without CONTINUATIONs; never 0
  bool in_block_ = false;          // a field block is incomplete
  std::size_t queued_before_ = 0;  // frames, when SETTINGS began, or the bytes now being read
  bool failed_ = false;
  ErrorCode error_ = ErrorCode::no_error;  // of terminate()
};

struct Nghttp2Session::Callbacks {
  static Nghttp2Session& self(void* user) { return *static_cast<Nghttp2Session*>(user); }

  static std::string_view view(const std::uint8_t* bytes, std::size_t size) {
    return {reinterpret_cast<const char*>(bytes), size};
  }

  static int begin_frame(nghttp2_session* session, const nghttp2_frame_hd* head, void* user) {
    Nghttp2Session& me = self(user);
    // The library does not report the end of a block that it ignores. The next frame shows it.
    const bool continues = head->type == NGHTTP2_CONTINUATION;
    me.in_block_ = continues || head->type == NGHTTP2_HEADERS;
    if (!continues) me.frames_ = std::max(me.frames_ + 1, 1U);
    if (head->type == NGHTTP2_SETTINGS) me.queued_before_ = me.frames_queued();
    if (head->type == NGHTTP2_HEADERS && me.skipped_.contain(head->stream_id)) {
      me.check(nghttp2_session_terminate_session(session, NGHTTP2_PROTOCOL_ERROR));
    }
    return 0;
  }

  static int begin_headers(nghttp2_session* session, const nghttp2_frame* frame, void* user) {
    if (frame->hd.type != NGHTTP2_HEADERS) return 0;
    Nghttp2Session& me = self(user);
    if (frame->headers.cat != NGHTTP2_HCAT_REQUEST) {
      H2Exchange* const open = me.exchange_of(frame->hd.stream_id);
      if (open != nullptr) me.builder_.begin_trailers(*open);
      return 0;
    }
    H2Exchange* const exchange = me.exchanges_.take().release();
    exchange->id = static_cast<std::uint32_t>(frame->hd.stream_id);
    exchange->head.version = Version::http_2;
    me.skipped_.opened(frame->hd.stream_id);
    me.incomplete_.push_back(exchange);
    me.builder_.begin_head(*exchange);
    nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, exchange);
    return 0;
  }

  static int header(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                    std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
                    std::uint8_t, void* user) {
    Nghttp2Session& me = self(user);
    if (me.exchange_of(frame->hd.stream_id) == nullptr) return 0;
    hpack::FieldLine line;  // the library has checked its characters
    line.name = view(name, name_size);
    line.value = view(value, value_size);
    line.token = hpack::token_of(line.name);
    line.name_is_valid = line.value_is_valid = true;
    me.builder_.add(line);
    if (!me.builder_.is_flood()) return 0;
    me.terminate(ErrorCode::enhance_your_calm);
    return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  }

  // RFC 9113, 8.2.1: makes the request malformed. By default the library only drops the field.
  static int invalid_header(nghttp2_session*, const nghttp2_frame*, const std::uint8_t*,
                            std::size_t, const std::uint8_t*, std::size_t, std::uint8_t, void*) {
    return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  }

  static int frame_received(nghttp2_session* session, const nghttp2_frame* frame, void* user) {
    Nghttp2Session& me = self(user);
    me.in_block_ = false;
    const bool is_ack = (frame->hd.flags & NGHTTP2_FLAG_ACK) != 0;
    if (frame->hd.type == NGHTTP2_PING && is_ack &&
        view(frame->ping.opaque_data, growth_ping.size()) == growth_ping) {
      const bool grown =
          me.content_.end_measurement(nghttp2_session_get_local_window_size(session));
      if (grown) me.widen_connection();
      return 0;
    }
    if (frame->hd.type == NGHTTP2_PING && is_ack && std::exchange(me.awaits_ack_, false)) {
      // RFC 9113, 6.8: what was sent before the client saw the first GOAWAY has arrived by now.
      me.check(nghttp2_submit_goaway(session, NGHTTP2_FLAG_NONE,
                                     nghttp2_session_get_last_proc_stream_id(session),
                                     NGHTTP2_NO_ERROR, nullptr, 0));
      return 0;
    }
    if (frame->hd.type == NGHTTP2_SETTINGS && is_ack) {
      me.acknowledged_ = true;
      return 0;
    }
    // RFC 9113, 6.9.2: a window that becomes too large is an error of the connection. The library
    // resets the stream; nothing but that and the acknowledgement is queued here.
    if (frame->hd.type == NGHTTP2_SETTINGS && me.frames_queued() > me.queued_before_ + 1)
      me.terminate(ErrorCode::flow_control_error);
    if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) return 0;
    H2Exchange* const exchange = me.exchange_of(frame->hd.stream_id);
    if (exchange == nullptr) return 0;
    if (frame->hd.type == NGHTTP2_HEADERS && !me.builder_.validate()) {
      me.check(nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id,
                                         NGHTTP2_PROTOCOL_ERROR));
      return 0;
    }
    const bool ends = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
      std::erase(me.incomplete_, exchange);
      exchange->session.ended = ends;
      if (!ends) me.content_.begin(*exchange);
      me.add_event(SessionEvent::Kind::request, exchange);
    } else if (ends) {
      me.content_.end(*exchange);
      me.add_event(SessionEvent::Kind::ended, exchange);
    }
    return 0;
  }

  static int frame_sent(nghttp2_session* session, const nghttp2_frame* frame, void* user) {
    Nghttp2Session& me = self(user);
    const bool is_head = frame->hd.type == NGHTTP2_HEADERS;
    H2Exchange* const answered = is_head ? me.exchange_of(frame->hd.stream_id) : nullptr;
    if (answered != nullptr) --answered->session.heads_queued;
    // Counts a reset that the client has caused.
    if (frame->hd.type == NGHTTP2_RST_STREAM &&
        std::ranges::find(me.own_resets_, frame->hd.stream_id) == me.own_resets_.end() &&
        !me.allow_reset(static_cast<std::uint32_t>(frame->hd.stream_id))) {
      me.terminate(ErrorCode::enhance_your_calm);
      return 0;
    }
    // Sends a PING after the first GOAWAY. Its answer shows that the client has seen the GOAWAY.
    if (frame->hd.type != NGHTTP2_GOAWAY || !me.draining_ || std::exchange(me.pinged_, true)) {
      return 0;
    }
    me.awaits_ack_ = true;
    me.guard_.credit_ping();
    me.check(nghttp2_submit_ping(session, NGHTTP2_FLAG_NONE, nullptr));
    return 0;
  }

  static int data_received(nghttp2_session* session, std::uint8_t, std::int32_t id,
                           const std::uint8_t* bytes, std::size_t size, void* user) {
    H2Exchange* const exchange = self(user).exchange_of(id);
    if (exchange == nullptr) {
      self(user).check(nghttp2_session_consume_connection(session, size));
      return 0;
    }
    Nghttp2Session& me = self(user);
    me.content_.arrived(*exchange, static_cast<std::uint32_t>(size));
    me.add_event(SessionEvent::Kind::data, exchange, view(bytes, size));
    return 0;
  }

  static int stream_closed(nghttp2_session*, std::int32_t id, std::uint32_t, void* user) {
    Nghttp2Session& me = self(user);
    std::erase(me.own_resets_, id);
    H2Exchange* const exchange = me.exchange_of(id);
    if (exchange == nullptr) return 0;
    me.content_.end(*exchange);
    if (std::erase(me.incomplete_, exchange) == 1) {
      base::Pool<H2Exchange>::Pointer(exchange, {&me.exchanges_}).reset();
    } else {
      me.add_event(SessionEvent::Kind::closed, exchange);
    }
    return 0;
  }

  static ssize_t read_body(nghttp2_session*, std::int32_t, std::uint8_t*, std::size_t bytes_max,
                           std::uint32_t* flags, nghttp2_data_source* source, void* user) {
    H2Exchange& exchange = *static_cast<H2Exchange*>(source->ptr);
    if (exchange.outgoing.finished()) {
      *flags |= NGHTTP2_DATA_FLAG_EOF;
      if (self(user).submit_trailers(exchange)) *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
      return 0;
    }
    const std::size_t size = exchange.outgoing.next_size(bytes_max);
    if (size == 0) {
      exchange.session.stalled = true;
      self(user).add_event(SessionEvent::Kind::body_wanted, &exchange);
      return NGHTTP2_ERR_DEFERRED;
    }
    *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
    if (exchange.outgoing.ends_after(size)) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(size);
  }

  static int send_body(nghttp2_session*, nghttp2_frame*, const std::uint8_t* frame_head,
                       std::size_t size, nghttp2_data_source* source, void* user) {
    Nghttp2Session& me = self(user);
    H2Exchange& exchange = *static_cast<H2Exchange*>(source->ptr);
    if (me.out_.size() >= me.out_bytes_max_ || exchange.outgoing.must_wait(me.out_, size)) {
      return NGHTTP2_ERR_WOULDBLOCK;
    }
    if (!exchange.outgoing.append(me.out_, view(frame_head, frame_head_bytes), size)) {
      return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;  // resets the stream, INTERNAL_ERROR
    }
    if (exchange.outgoing.is_pulled() && exchange.outgoing.finished()) {
      me.add_event(SessionEvent::Kind::body_wanted, &exchange);
    }
    return 0;
  }

  static const nghttp2_session_callbacks* set() {
    static const std::unique_ptr<nghttp2_session_callbacks, Free> made = [] {
      using base::c_callback;
      nghttp2_session_callbacks* fresh = nullptr;
      if (nghttp2_session_callbacks_new(&fresh) != 0) base::out_of_memory();
      nghttp2_session_callbacks_set_on_begin_frame_callback(fresh, c_callback<begin_frame>);
      nghttp2_session_callbacks_set_on_begin_headers_callback(fresh, c_callback<begin_headers>);
      nghttp2_session_callbacks_set_on_header_callback(fresh, c_callback<header>);
      nghttp2_session_callbacks_set_on_invalid_header_callback(fresh, c_callback<invalid_header>);
      nghttp2_session_callbacks_set_on_frame_recv_callback(fresh, c_callback<frame_received>);
      nghttp2_session_callbacks_set_on_frame_send_callback(fresh, c_callback<frame_sent>);
      nghttp2_session_callbacks_set_on_data_chunk_recv_callback(fresh, c_callback<data_received>);
      nghttp2_session_callbacks_set_on_stream_close_callback(fresh, c_callback<stream_closed>);
      nghttp2_session_callbacks_set_send_data_callback(fresh, c_callback<send_body>);
      return std::unique_ptr<nghttp2_session_callbacks, Free>(fresh);
    }();
    return made.get();
  }
};

Nghttp2Session::~Nghttp2Session() {
  for (H2Exchange* const exchange : incomplete_) {
    base::Pool<H2Exchange>::Pointer(exchange, {&exchanges_}).reset();
  }
}

Nghttp2Session::Nghttp2Session(const Limits& limits, base::Pool<H2Exchange>& exchanges,
                               WindowBudget* windows)
    : limits_(limits),
      exchanges_(exchanges),
      builder_(limits),
      guard_(limits),
      content_(limits, windows) {
  nghttp2_option* fresh = nullptr;
  if (nghttp2_option_new(&fresh) != 0) base::out_of_memory();
  const std::unique_ptr<nghttp2_option, Free> options(fresh);
  nghttp2_option_set_no_auto_window_update(fresh, 1);  // consume() opens the windows
  nghttp2_option_set_max_outbound_ack(fresh, limits_.acks_queued_max);
  constexpr std::uint64_t no_limit = std::numeric_limits<std::uint32_t>::max();
  nghttp2_option_set_stream_reset_rate_limit(fresh, no_limit, no_limit);  // guard_ counts them
  nghttp2_session* session = nullptr;
  if (nghttp2_session_server_new2(&session, Callbacks::set(), this, fresh) != 0) {
    base::out_of_memory();
  }
  session_.reset(session);
  const std::array<nghttp2_settings_entry, 3> settings = {{
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limits_.streams_max},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE,
       static_cast<std::uint32_t>(limits_.stream_window_bytes)},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, static_cast<std::uint32_t>(limits_.head_bytes_max)},
  }};
  check(nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings.data(), settings.size()));
  check(nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0,
                                              limits_.connection_window_bytes));
}

// Only fatal errors fail the session: a call for a stream that has closed meanwhile may fail.
void Nghttp2Session::check(ssize_t verdict) noexcept {
  if (verdict == NGHTTP2_ERR_NOMEM) base::out_of_memory();
  failed_ |= verdict < 0 && nghttp2_is_fatal(static_cast<int>(verdict)) != 0;
}

bool Nghttp2Session::is_gone(std::uint32_t id) const noexcept {
  return id <= last_head_id_ && static_cast<std::int32_t>(id) <= skipped_.last_id() &&
         exchange_of(static_cast<std::int32_t>(id)) == nullptr;
}

// Counts frames by their heads, since the library ignores some without a callback. Runs before the
// library sees the bytes: a stream that closes in the same receive does not count as gone yet.
// Returns false if a limit is exceeded.
bool Nghttp2Session::allow(const FrameHead& head) noexcept {
  switch (head.type) {
    case FrameType::headers:
      if (head.stream <= last_head_id_) return !is_gone(head.stream) || guard_.allow_idle_frame();
      last_head_id_ = head.stream;
      guard_.credit_stream();
      return true;
    case FrameType::data:
      return head.size > 0 || head.has(flag::end_stream) || guard_.allow_idle_frame();
    case FrameType::rst_stream:
      return is_gone(head.stream) ? guard_.allow_idle_frame() : allow_reset(head.stream);
    case FrameType::window_update:
      return head.stream == 0 || !is_gone(head.stream) || guard_.allow_idle_frame();
    case FrameType::settings:
      return head.has(flag::ack) || guard_.allow_idle_frame();
    case FrameType::continuation:  // the library bounds them
    case FrameType::push_promise:  // an error
      return true;
    case FrameType::priority:
    case FrameType::ping:
    case FrameType::goaway:
    case FrameType::priority_update:
      break;
  }
  return guard_.allow_idle_frame();  // these, and unknown extensions
}

void Nghttp2Session::receive(std::string_view bytes, std::int64_t now_ms) {
  guard_.set_time(now_ms);
  content_.set_time(now_ms);
  bool flooded = false;
  const std::size_t allowed = heads_.read(bytes, [&](const FrameHead& head) {
    flooded = !allow(head);
    return !flooded;
  });
  queued_before_ = frames_queued();
  // The library queues GOAWAY itself for errors of the peer, except for too many answers to PING
  // and SETTINGS that the peer has not read.
  const ssize_t taken = nghttp2_session_mem_recv(
      session_.get(), reinterpret_cast<const std::uint8_t*>(bytes.data()), allowed);
  flooded |= taken == NGHTTP2_ERR_FLOODED || frames_queued() > limits_.frames_queued_max;
  if (flooded) {
    terminate(ErrorCode::enhance_your_calm);
    return;
  }
  check(taken);
  failed_ |= taken < 0;
}

bool Nghttp2Session::next(SessionEvent& event) {
  if (delivered_ == events_.size()) {
    events_.clear();
    delivered_ = 0;
    return false;
  }
  event = events_[delivered_++];
  if (event.kind == SessionEvent::Kind::ended) event.exchange->session.ended = true;
  return true;
}

void Nghttp2Session::produce(std::size_t bytes_max) {
  ssize_t size = 0;
  while (out_.size() < bytes_max) {
    out_bytes_max_ = bytes_max;
    const std::uint8_t* frame = nullptr;
    size = nghttp2_session_mem_send(session_.get(), &frame);
    if (size <= 0) break;
    out_.append(Callbacks::view(frame, static_cast<std::size_t>(size)));
  }
  check(size);
  failed_ |= size < 0;
}

bool Nghttp2Session::finished() const noexcept {
  return nghttp2_session_want_read(session_.get()) == 0 &&
         nghttp2_session_want_write(session_.get()) == 0;
}

void Nghttp2Session::add_header(const Field& field) {
  const auto bytes = [](std::string_view text) {
    return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
  };
  headers_.push_back({bytes(field.name), bytes(field.value), field.name.size(), field.value.size(),
                      NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE});
}

void Nghttp2Session::respond(H2Exchange& exchange, const ResponseHead& head, bool has_body) {
  begin_headers(exchange);
  if (head.prepared != nullptr) {
    for (const Field& field : PreparedHead::common) add_header(field);
  }
  for (const Field& field : head.fields) add_header(field);
  if (!head.date.empty()) add_header({"date", exchange.arena.copy(head.date)});
  if (head.prepared != nullptr) {
    for (const hpack::HashedField& shared : head.prepared->shared) add_header(shared.field);
    for (const Field& field : head.prepared->own.fields) add_header(field);
  }
  const nghttp2_data_provider body{.source = {.ptr = &exchange},
                                   .read_callback = base::c_callback<Callbacks::read_body>};
  check(nghttp2_submit_response(session_.get(), static_cast<std::int32_t>(exchange.id),
                                headers_.data(), headers_.size(), has_body ? &body : nullptr));
}

// Returns false if there are none.
bool Nghttp2Session::submit_trailers(H2Exchange& exchange) {
  if (exchange.outgoing.source() == nullptr) return false;
  std::vector<Field> trailers;
  trailer_fields(exchange.outgoing.source()->trailers(), exchange.arena, trailers);
  if (trailers.empty()) return false;
  begin_headers(exchange);
  for (const Field& field : trailers) add_header(field);
  check(nghttp2_submit_trailer(session_.get(), static_cast<std::int32_t>(exchange.id),
                               headers_.data(), headers_.size()));
  return true;
}

void Nghttp2Session::inform(H2Exchange& exchange, std::span<const Field> fields) {
  begin_headers(exchange);
  for (const Field& field : fields) {
    add_header({exchange.arena.copy(field.name), exchange.arena.copy(field.value)});
  }
  check(nghttp2_submit_headers(session_.get(), NGHTTP2_FLAG_NONE,
                               static_cast<std::int32_t>(exchange.id), nullptr, headers_.data(),
                               headers_.size(), nullptr));
}

void Nghttp2Session::body_offered(H2Exchange& exchange) {
  if (!std::exchange(exchange.session.stalled, false)) return;
  check(nghttp2_session_resume_data(session_.get(), static_cast<std::int32_t>(exchange.id)));
}

void Nghttp2Session::consume(H2Exchange& exchange, std::size_t bytes, Consumed by) {
  const auto consumed = static_cast<std::uint32_t>(bytes);
  const std::uint32_t kept =
      content_.consume(consumed, nghttp2_session_get_local_window_size(session_.get()));
  if (kept > 0) resize_window(0, content_.connection_bytes());
  check(nghttp2_session_consume_connection(session_.get(), consumed - kept));
  if (exchange.handling.closed) return;
  const auto id = static_cast<std::int32_t>(exchange.id);
  check(nghttp2_session_consume_stream(session_.get(), id, consumed));
  if (exchange.stream.takes_content()) widen(exchange, by);
}

// Opens the windows of an upload as wide as its content needs, if the budget allows it.
void Nghttp2Session::widen(H2Exchange& exchange, Consumed by) {
  const auto id = static_cast<std::int32_t>(exchange.id);
  const auto left = nghttp2_session_get_stream_local_window_size(session_.get(), id);
  const Stream& stream = exchange.stream;
  if (stream.sized && std::cmp_less_equal(stream.content_left, left)) return;
  if (by == Consumed::read && content_.begin_upload(exchange)) widen_connection();
  const std::int32_t wide = content_.stream_bytes();
  if (nghttp2_session_get_stream_effective_local_window_size(session_.get(), id) < wide) {
    resize_window(id, wide);
  }
  if (!content_.measure()) return;
  guard_.credit_ping();
  check(nghttp2_submit_ping(session_.get(), NGHTTP2_FLAG_NONE,
                            reinterpret_cast<const std::uint8_t*>(growth_ping.data())));
}

void Nghttp2Session::widen_connection() {
  const std::int32_t more =
      content_.connection_bytes() - nghttp2_session_get_effective_local_window_size(session_.get());
  const std::int32_t wanted = nghttp2_session_get_local_window_size(session_.get()) + more;
  const auto missing = [&] {
    return std::max(0, wanted - nghttp2_session_get_local_window_size(session_.get()));
  };
  resize_window(0, content_.connection_bytes());
  // The library keeps what was taken from the window before, as if it had not been consumed. The
  // second call does nothing if the first one has caused an announcement.
  check(nghttp2_session_consume_connection(session_.get(), static_cast<std::size_t>(missing())));
  check(nghttp2_submit_window_update(session_.get(), NGHTTP2_FLAG_NONE, 0, missing()));
}

bool Nghttp2Session::awaits_window(const H2Exchange& exchange) const noexcept {
  const auto id = static_cast<std::int32_t>(exchange.id);
  return nghttp2_session_get_stream_remote_window_size(session_.get(), id) <= 0;
}

bool Nghttp2Session::awaits_window() const noexcept {
  return nghttp2_session_get_remote_window_size(session_.get()) <= 0;
}

bool Nghttp2Session::may_receive() const noexcept {
  return nghttp2_session_get_local_window_size(session_.get()) > 0;
}

void Nghttp2Session::reset(H2Exchange& exchange, ErrorCode code) {
  exchange.session.reset = true;
  const auto id = static_cast<std::int32_t>(exchange.id);
  if (!is_client_caused(code) && !exchange.handling.closed) own_resets_.push_back(id);
  check(nghttp2_submit_rst_stream(session_.get(), NGHTTP2_FLAG_NONE, id,
                                  static_cast<std::uint32_t>(code)));
}

void Nghttp2Session::drain() {
  if (std::exchange(draining_, true)) return;
  check(nghttp2_submit_shutdown_notice(session_.get()));
}

void Nghttp2Session::end_after(const H2Exchange& exchange) {
  check(nghttp2_submit_goaway(session_.get(), NGHTTP2_FLAG_NONE,
                              static_cast<std::int32_t>(exchange.id), NGHTTP2_NO_ERROR, nullptr,
                              0));
}

void Nghttp2Session::terminate(ErrorCode code) {
  error_ = code;
  check(nghttp2_session_terminate_session(session_.get(), static_cast<std::uint32_t>(code)));
}

}  // namespace

const bool has_nghttp2 = true;

std::unique_ptr<Session> make_nghttp2_session(const Limits& limits,
                                              base::Pool<H2Exchange>& exchanges,
                                              WindowBudget* windows) {
  return std::make_unique<Nghttp2Session>(limits, exchanges, windows);
}

}  // namespace h2server::http::h2
