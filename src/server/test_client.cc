#include "h2server/test_client.h"

#include <cerrno>
#include <deque>
#include <stdexcept>
#include <utility>

#include "base/assert.h"
#include "base/memory/buffer_chain.h"
#include "base/timer_wheel.h"
#include "file/cache_index.h"
#include "http/answer.h"
#include "http/fields/syntax.h"
#include "http/file_head.h"
#include "http/message.h"
#include "http/worker_context.h"
#include "io/epoll_engine.h"
#include "io/mailbox.h"
#include "server/server_state.h"
#include "server/worker_services.h"

namespace h2server {

namespace {

// Makes an engine that of the thread while the client works on it.
class CurrentEngine {
 public:
  explicit CurrentEngine(io::Engine& engine) noexcept : before_(io::Engine::current()) {
    io::Engine::set_current(&engine);
  }
  CurrentEngine(const CurrentEngine&) = delete;
  CurrentEngine& operator=(const CurrentEngine&) = delete;
  ~CurrentEngine() { io::Engine::set_current(before_); }

 private:
  io::Engine* const before_;
};

// The request's body, as the client sends it.
class Incoming final : public BodySource {
 public:
  Task<Result<std::string_view>> read() override {
    if (pieces_.empty() && !ended_) {
      coro::StoppableWait wait;
      wanted_ = &wait;
      co_await wait;
      wanted_ = nullptr;
    }
    if (left_) co_return std::unexpected(Error{ECONNRESET, "request body"});
    if (pieces_.empty() && !ended_) co_return std::unexpected(Error{ECANCELED, "request body"});
    if (pieces_.empty()) co_return std::string_view();
    current_ = std::move(pieces_.front());
    pieces_.pop_front();
    co_return std::string_view(current_);
  }
  void interrupt() noexcept override { notify(); }
  std::span<const Field> trailers() const noexcept override { return trailers_; }

  void add(std::string piece) {
    if (!piece.empty()) pieces_.push_back(std::move(piece));
    notify();
  }
  void end(std::vector<Response::Line> trailers) {
    lines_ = std::move(trailers);
    for (const Response::Line& line : lines_) trailers_.push_back({line.name, line.value});
    ended_ = true;
    notify();
  }
  void leave() { left_ = !ended_; }

 private:
  void notify() {
    if (wanted_ != nullptr) std::exchange(wanted_, nullptr)->complete();
  }

  std::deque<std::string> pieces_;
  std::string current_;  // lent to the handler
  std::vector<Response::Line> lines_;
  std::vector<Field> trailers_;  // views of lines_
  coro::StoppableWait* wanted_ = nullptr;
  bool ended_ = false;
  bool left_ = false;
};

std::vector<Response::Line> fields_of(const Response& response) {
  std::vector<Response::Line> fields;
  if (const File* const file = response.described_by()) {
    for (const http::FileField& field : file->head().fields) {
      fields.push_back({std::string(field.name), std::string(field.value)});
    }
  }
  fields.insert(fields.end(), response.fields().begin(), response.fields().end());
  return fields;
}

}  // namespace

std::optional<std::string_view> TestResponse::field(std::string_view name) const noexcept {
  for (const Response::Line& line : fields) {
    if (http::equals_ignoring_case(line.name, name)) return line.value;
  }
  return std::nullopt;
}

struct TestClient::State {
  State(Server::State& under_test, std::chrono::milliseconds time)
      : server(under_test), patience(time), engine(io::EpollEngine::open().value()) {
    server.check_not_running();
    if (const Result<void, std::string> prepared = server.prepare(); !prepared)
      throw std::runtime_error(prepared.error());
    const CurrentEngine current(*engine);
    io::Mailbox::add_to(*engine);
    server::WorkerServices::add_to(*engine, *server.shared);
    file::CacheIndex::add_to(*engine, file::Cache::of_process());
  }

  // Runs the engine until `done()`. Returns false if that takes too long.
  template <class Done>
  bool run_until(Done done) {
    engine->read_clocks();
    bool late = false;
    base::Timer timer;
    timer.owner = &late;
    timer.fire = [](base::Timer& fired) {
      *static_cast<bool*>(fired.owner) = true;
      io::Engine::current()->stop();
    };
    engine->arm_timer(timer, engine->now_ms() + patience.count());
    while (!done() && !late) engine->run();
    engine->disarm_timer(timer);
    return done();
  }

  Server::State& server;
  const std::chrono::milliseconds patience;
  const std::unique_ptr<io::EpollEngine> engine;
};

struct TestExchange::State {
  State(TestClient::State& of, TestRequest what) : client(of), request(std::move(what)) {
    RequestHead& head = exchange.head;
    head.method = request.method;
    head.method_name = http::method_name(request.method);
    head.version = request.version;
    head.target = request.target;
    head.authority = request.authority;
    head.received_s = client.engine->unix_seconds();
    for (const Response::Line& line : request.fields) head.fields.add(line.name, line.value);
    if (!request.body.empty()) incoming.add(request.body);
  }
  ~State() {
    const CurrentEngine current(*client.engine);
    incoming.leave();
    exchange.stop.stop(StopReason::client_left);
    wanted.set();
    // What it waits for has ended, unless it is no wait of the library.
    if (!client.run_until([this] { return serving.running() == 0; }))
      ASSERT(!"a handler under test goes on after its client left");
  }

  Task<void> serve();
  Task<bool> send_body();
  void changed() const { client.engine->stop(); }
  void wait_for_piece();

  TestClient::State& client;
  const TestRequest request;
  Incoming incoming;
  http::ExchangeState exchange;
  TestResponse response;
  std::string piece;   // of the response's body
  coro::Event wanted;  // the client reads
  bool has_head = false;
  bool ended = false;
  TaskGroup serving;
};

Task<void> TestExchange::State::serve() {
  const server::SharedContext& shared = *client.server.shared;
  const http::WorkerContext context{
      .router = shared.router, .limits = shared.limits, .composition = shared.composition.get()};
  if (http::find_handler(context, {}, exchange)) {
    exchange.request.emplace(exchange.head, exchange.params, &incoming, &exchange.stop);
    std::optional<Response> at_once = http::answer_at_once(exchange, http::Begin::coroutines);
    if (at_once) {
      exchange.response = *std::move(at_once);
    } else {
      Response answered = co_await http::answer(exchange);
      exchange.response = std::move(answered);
    }
  }
  response.status = exchange.response.status();
  response.fields = fields_of(exchange.response);
  has_head = true;
  changed();
  const bool complete = co_await send_body();
  response.complete = complete;
  if (!response.complete) exchange.stop.stop(StopReason::client_left);
  if (exchange.duplex != nullptr) co_await exchange.duplex->join();
  ended = true;
  changed();
}

// Passes the body to the client, piece by piece as it reads. Returns false if it can't be
// completed.
Task<bool> TestExchange::State::send_body() {
  constexpr std::size_t piece_max = 64 * 1024;
  const bool has_body =
      request.method != Method::HEAD && http::may_have_content(exchange.response.status());
  if (!has_body) {
    if (exchange.duplex != nullptr) exchange.duplex->discard();
    co_return true;
  }
  http::OutgoingBody& body = exchange.outgoing;
  body.open(exchange.response, {.copy = true, .inline_bytes_max = piece_max});
  while (!body.finished()) {
    const std::size_t size = body.next_size(piece_max);
    if (size == 0 && body.make_resident_at_once()) continue;
    if (size == 0) {
      const bool pulled = co_await http::pull(*client.engine, exchange);
      if (!pulled) co_return false;
      continue;
    }
    while (!piece.empty() && !exchange.stop.stopped()) {
      co_await wanted.wait();
    }
    base::BufferChain bytes;
    if (!body.append(bytes, {}, size)) co_return false;
    for (; !bytes.empty(); bytes.consume(bytes.front().size())) piece.append(bytes.front());
    changed();
  }
  if (body.source() == nullptr) co_return true;
  for (const Field& field : body.source()->trailers()) {
    response.trailers.push_back({std::string(field.name), std::string(field.value)});
  }
  co_return true;
}

void TestExchange::State::wait_for_piece() {
  const auto done = [this] { return !piece.empty() || ended; };
  wanted.set();
  if (!client.run_until(done)) throw std::runtime_error("no more of the response in time");
}

TestExchange::TestExchange(std::unique_ptr<State> state) : state_(std::move(state)) {}
TestExchange::TestExchange(TestExchange&&) noexcept = default;
TestExchange::~TestExchange() = default;

void TestExchange::write(std::string piece) {
  const CurrentEngine current(*state_->client.engine);
  state_->incoming.add(std::move(piece));
}

void TestExchange::finish(std::vector<Response::Line> trailers) {
  const CurrentEngine current(*state_->client.engine);
  state_->incoming.end(std::move(trailers));
}

const TestResponse& TestExchange::head() {
  const CurrentEngine current(*state_->client.engine);
  if (!state_->client.run_until([this] { return state_->has_head; }))
    throw std::runtime_error("no response in time");
  return state_->response;
}

std::string TestExchange::read() {
  const CurrentEngine current(*state_->client.engine);
  state_->wait_for_piece();
  return std::exchange(state_->piece, {});
}

TestResponse TestExchange::rest() {
  finish();
  static_cast<void>(head());
  for (std::string piece = read(); !piece.empty(); piece = read()) state_->response.body += piece;
  return state_->response;
}

TestClient::TestClient(Server& server, std::chrono::milliseconds patience)
    : state_(std::make_unique<State>(*server.state_, patience)) {}
TestClient::~TestClient() = default;

TestResponse TestClient::send(TestRequest request) { return open(std::move(request)).rest(); }

TestExchange TestClient::open(TestRequest request) {
  const CurrentEngine current(*state_->engine);
  state_->engine->read_clocks();
  auto state = std::make_unique<TestExchange::State>(*state_, std::move(request));
  TestExchange::State& opened = *state;
  opened.serving.start(opened.serve());
  return TestExchange(std::move(state));
}

}  // namespace h2server
