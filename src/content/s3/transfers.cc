#include "content/s3/transfers.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <new>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>
#include <unordered_map>

#include "base/assert.h"
#include "base/c_callback.h"
#include "base/out_of_memory.h"
#include "base/signals_blocked.h"
#include "content/s3/transfer_state.h"
#include "h2server/timing.h"

namespace h2server::content::s3 {

namespace {

using Kind = StoreError::Kind;

using Clock = std::chrono::steady_clock;

constexpr int poll_ms_max = 60'000;  // libcurl ends the wait for its own timeouts, and commands do

StoreError transfer_failure(std::string reason) {
  return {.kind = Kind::failed, .reason = std::move(reason)};
}

StoreError stopped() { return {.kind = Kind::stopped}; }

struct FreeMulti {
  void operator()(CURLM* multi) const noexcept { curl_multi_cleanup(multi); }
};
using Multi = std::unique_ptr<CURLM, FreeMulti>;

}  // namespace

// --- the thread -------------------------------------------------------------------------------

class TransferLoop {
 public:
  TransferLoop(TransfersOptions options, bool shares)
      : options_(std::move(options)), shares_(shares) {}

  enum class Order : std::uint8_t { begin, resume, cancel };
  // Any thread.
  StoreResult<void> start();
  // Returns false, without effect, after stop().
  bool post(Order order, StateRef state);
  void stop() noexcept;
  // Returns true if one more transfer may be under way; it ends by discharge().
  bool charge() noexcept;
  void discharge() noexcept { under_way_.fetch_sub(1); }
  [[nodiscard]] const TransferLimits& limits() const noexcept { return options_.limits; }
  // Returns true if transfers share connections.
  [[nodiscard]] bool shares() const noexcept { return shares_; }

 private:
  struct Command {
    Order order;
    StateRef state;
  };
  void run();
  bool take_commands();
  void obey(const Command& command);
  void begin(const StateRef& state);
  void resume(TransferState& state);
  void cancel(TransferState& state);
  void finish_transfers();
  void end(TransferState& state, CURLcode result);
  void note_failure(const TransferState& state);
  void release(TransferState& state);
  void close_if_flushed(TransferState& state);
  void fail(TransferState& state, StoreError error);
  void forget(TransferState& state);
  static std::string reason_of(TransferState& state, CURLcode result);

  static std::size_t take_body(char* data, std::size_t size, std::size_t count, void* user);
  static std::size_t take_line(char* data, std::size_t size, std::size_t count, void* user);

  const TransfersOptions options_;
  const bool shares_;
  std::atomic<std::size_t> under_way_{0};
  std::mutex mutex_;  // for the following five
  std::vector<Command> commands_;
  bool stopping_ = false;
  bool running_ = false;
  Multi multi_;  // once it runs; the thread's, but for curl_multi_wakeup()
  std::thread thread_;

  // The thread's.
  std::unordered_map<TransferState*, StateRef> states_;  // all that have not been closed
  std::vector<TransferState*> fresh_;                    // that got bytes in this turn
  std::vector<Easy> spare_;
  Clock::time_point http2_from_;  // before that, HTTP/1.1 is used
};

StoreResult<void> TransferLoop::start() {
  const std::lock_guard lock(mutex_);
  if (stopping_) return std::unexpected(stopped());
  if (running_) return {};
  // Once for the program; it never ends the library, whose threads may still look up a name.
  static const CURLcode started = curl_global_init(CURL_GLOBAL_ALL);
  if (started == CURLE_OK) multi_.reset(curl_multi_init());
  // Without descriptors for it, a wakeup would never come.
  if (multi_ == nullptr || curl_multi_wakeup(multi_.get()) != CURLM_OK) {
    multi_.reset();
    return std::unexpected(transfer_failure("can't make transfers: no memory or no descriptors"));
  }
  curl_multi_setopt(multi_.get(), CURLMOPT_MAXCONNECTS, options_.limits.kept_connections_max);
  try {
    const base::SignalsBlocked blocked;
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error& error) {
    return std::unexpected(transfer_failure(fmt::format("can't start a thread: {}", error.what())));
  }
  running_ = true;
  return {};
}

bool TransferLoop::post(Order order, StateRef state) {
  const std::lock_guard lock(mutex_);
  if (stopping_) return false;
  commands_.push_back({order, std::move(state)});
  if (commands_.size() == 1) curl_multi_wakeup(multi_.get());
  return true;
}

void TransferLoop::stop() noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (running_ && !stopping_) curl_multi_wakeup(multi_.get());
    stopping_ = true;
  }
  if (thread_.joinable()) thread_.join();
}

bool TransferLoop::charge() noexcept {
  if (under_way_.fetch_add(1) < options_.limits.transfers_max) return true;
  discharge();
  return false;
}

void TransferLoop::run() {
  const auto require = [](CURLMcode code) {
    if (code == CURLM_OUT_OF_MEMORY) base::out_of_memory();
    ASSERT(code == CURLM_OK);  // the others are misuse
  };
  while (take_commands()) {
    int running = 0;
    require(curl_multi_perform(multi_.get(), &running));
    for (TransferState* const state : fresh_) {
      state->fresh = false;
      state->flush();
    }
    fresh_.clear();
    finish_transfers();
    require(curl_multi_poll(multi_.get(), nullptr, 0, poll_ms_max, nullptr));
  }
  while (!states_.empty()) {
    TransferState& state = *states_.begin()->first;
    if (state.easy != nullptr) release(state);
    fail(state, stopped());
  }
  spare_.clear();
  multi_.reset();
}

// Returns false if the thread is to end.
bool TransferLoop::take_commands() {
  std::vector<Command> taken;
  bool ends = false;
  {
    const std::lock_guard lock(mutex_);
    taken.swap(commands_);
    ends = stopping_;
  }
  for (const Command& command : taken) obey(command);
  return !ends;
}

void TransferLoop::obey(const Command& command) {
  TransferState& state = *command.state;
  if (command.order == Order::begin) {
    begin(command.state);
    return;
  }
  if (!states_.contains(&state)) return;  // it has been closed
  switch (command.order) {
    case Order::begin:
      break;
    case Order::resume:
      resume(state);
      break;
    case Order::cancel:
      cancel(state);
      break;
  }
}

void TransferLoop::begin(const StateRef& state) {
  states_.emplace(state.get(), state);
  Result<CredentialsRef, std::string> credentials = options_.credentials();
  if (!credentials) {
    discharge();
    fail(*state, {.kind = Kind::denied, .reason = std::move(credentials.error())});
    return;
  }
  if (spare_.empty()) {
    state->easy.reset(curl_easy_init());
  } else {
    state->easy = std::move(spare_.back());
    spare_.pop_back();
    curl_easy_reset(state->easy.get());
  }
  if (state->easy == nullptr) base::out_of_memory();
  CURL* const easy = state->easy.get();
  state->prepare(**credentials, options_);
  state->use_http2(shares_ && Clock::now() >= http2_from_);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, base::c_callback<&TransferLoop::take_body>);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, state.get());
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, base::c_callback<&TransferLoop::take_line>);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, state.get());
  const CURLMcode added = curl_multi_add_handle(multi_.get(), easy);
  if (added != CURLM_OK) base::out_of_memory();
}

std::size_t TransferLoop::take_body(char* data, std::size_t size, std::size_t count, void* user) {
  TransferState& state = *static_cast<TransferState*>(user);
  if (!state.take_body({data, size * count})) {
    state.paused = true;
    return CURL_WRITEFUNC_PAUSE;  // the same bytes come again later
  }
  if (!state.fresh) state.loop.fresh_.push_back(&state);
  state.fresh = true;
  return size * count;
}

// Returning less than it got ends the transfer.
std::size_t TransferLoop::take_line(char* data, std::size_t size, std::size_t count, void* user) {
  TransferState& state = *static_cast<TransferState*>(user);
  state.take_line({data, size * count});
  return state.head_too_long ? 0 : size * count;
}

// The reader has made room.
void TransferLoop::resume(TransferState& state) {
  if (!state.flush()) return;
  if (state.easy == nullptr) {
    close_if_flushed(state);
    return;
  }
  if (!state.paused) return;
  state.paused = false;
  // Calls take_body() with what was refused.
  const CURLcode resumed = curl_easy_pause(state.easy.get(), CURLPAUSE_CONT);
  if (resumed != CURLE_OK) end(state, resumed);
}

// A stream that is reset may stall those beside it. One that waits for a connection has not begun.
void TransferLoop::cancel(TransferState& state) {
  long sent = 0;  // bytes of the request's head
  if (state.easy != nullptr) curl_easy_getinfo(state.easy.get(), CURLINFO_REQUEST_SIZE, &sent);
  if (shares_ && sent > 0) {
    state.abandon();
    return;
  }
  if (state.easy != nullptr) release(state);
  forget(state);
}

void TransferLoop::finish_transfers() {
  int left = 0;
  while (const CURLMsg* const message = curl_multi_info_read(multi_.get(), &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    const CURLcode result = message->data.result;  // the message ends with its handle
    char* state = nullptr;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &state);
    end(*reinterpret_cast<TransferState*>(state), result);
  }
}

void TransferLoop::end(TransferState& state, CURLcode result) {
  if (result == CURLE_OK && !state.head_finished) result = CURLE_GOT_NOTHING;
  std::optional<StoreError> error;
  if (result != CURLE_OK) {
    error = transfer_failure(reason_of(state, result));
    note_failure(state);
  }
  if (!error && state.overflown) error = transfer_failure("the response is too long");
  release(state);
  if (state.abandoned) {
    forget(state);
    return;
  }
  if (error && state.destination.arrivals != nullptr) {
    fail(state, *std::move(error));
    return;
  }
  if (state.destination.arrivals != nullptr) {
    state.answer(
        TransferAnswer{.head = std::move(state.head), .error_body = std::move(state.error_body)});
  }
  state.broken = std::move(error);
  close_if_flushed(state);
}

void TransferLoop::note_failure(const TransferState& state) {
  long version = 0;
  curl_easy_getinfo(state.easy.get(), CURLINFO_HTTP_VERSION, &version);
  if (version == CURL_HTTP_VERSION_2) http2_from_ = Clock::now() + options_.limits.without_http2;
}

// Takes the handle off the transfer, and closes the connection if the response has not ended.
void TransferLoop::release(TransferState& state) {
  curl_multi_remove_handle(multi_.get(), state.easy.get());
  if (spare_.size() < static_cast<std::size_t>(options_.limits.kept_connections_max)) {
    spare_.push_back(std::move(state.easy));
  }
  state.easy.reset();
  state.fields.reset();
  discharge();
}

// Of a transfer that has ended. The last bytes wait for room, too.
void TransferLoop::close_if_flushed(TransferState& state) {
  if (!state.flush()) return;
  state.pieces.close();
  forget(state);
}

// Of a transfer that has ended.
void TransferLoop::fail(TransferState& state, StoreError error) {
  state.broken = error;
  state.answer(std::unexpected(std::move(error)));
  state.pieces.close();
  forget(state);
}

// May destroy it.
void TransferLoop::forget(TransferState& state) {
  if (state.fresh) std::erase(fresh_, &state);
  states_.erase(&state);
}

std::string TransferLoop::reason_of(TransferState& state, CURLcode result) {
  if (state.head_too_long) return "the head of the response is too long";
  long os_error = 0;
  curl_easy_getinfo(state.easy.get(), CURLINFO_OS_ERRNO, &os_error);
  if (result == CURLE_COULDNT_CONNECT && os_error != 0) {
    return "can't connect: " + std::generic_category().message(static_cast<int>(os_error));
  }
  return state.reason[0] != '\0' ? state.reason.data() : curl_easy_strerror(result);
}

// --- the worker -------------------------------------------------------------------------------

Transfer::~Transfer() {
  if (state_ != nullptr) loop_.post(TransferLoop::Order::cancel, std::move(state_));
}

Task<TransferArrival> Transfer::answer() {
  Result<TransferArrival> arrival = co_await arrivals_->receive();
  if (arrival) co_return *std::move(arrival);
  TransferArrival none{.outcome = std::unexpected(stopped())};  // ECANCELED
  co_return none;
}

Task<std::optional<TransferArrival>> Transfer::answer_within(std::chrono::milliseconds time) {
  Result<TransferArrival> arrival = co_await with_timeout(time, receive());
  std::optional<TransferArrival> found;
  if (arrival) found = *std::move(arrival);
  co_return found;
}

Task<Result<TransferArrival>> Transfer::receive() {
  Result<TransferArrival> arrival = co_await arrivals_->receive();
  co_return arrival;
}

Task<StoreResult<std::string>> Transfer::read() {
  Result<std::string> piece = co_await state_->pieces.receive();
  state_->give_back(std::exchange(lent_, 0));
  if (!piece && piece.error().code == ECANCELED) co_return std::unexpected(stopped());
  if (piece) {
    lent_ = piece->capacity();
    if (state_->starved.exchange(false)) loop_.post(TransferLoop::Order::resume, state_);
    co_return *std::move(piece);
  }
  if (state_->broken) co_return std::unexpected(*state_->broken);
  co_return std::string();
}

std::size_t Transfer::bytes_held() const noexcept { return state_->held; }

bool Transfers::available() noexcept { return true; }

bool may_share(const TransferRequest& request, const TransferLimits& limits) noexcept {
  const std::size_t sent = request.body != nullptr ? request.body->size() : 0;
  return request.brief && request.url.starts_with("https:") && sent <= limits.shared_body_bytes_max;
}

Transfers::Transfers(TransfersOptions options)
    : own_(std::make_unique<TransferLoop>(options, false)),
      shared_(std::make_unique<TransferLoop>(std::move(options), true)) {}

Transfers::~Transfers() { stop(); }

StoreResult<std::unique_ptr<Transfer>> Transfers::begin(TransferRequest request) {
  constexpr std::size_t transfers_max = 2;  // see begin_beside()
  TransferLoop& loop = may_share(request, own_->limits()) ? *shared_ : *own_;
  return begin_at(loop, std::move(request), std::make_shared<TransferArrivals>(transfers_max),
                  false);
}

StoreResult<std::unique_ptr<Transfer>> Transfers::begin_beside(const Transfer& other,
                                                               TransferRequest request) {
  return begin_at(*own_, std::move(request), other.arrivals_, true);
}

StoreResult<std::unique_ptr<Transfer>> Transfers::begin_at(
    TransferLoop& loop, TransferRequest request, std::shared_ptr<TransferArrivals> arrivals,
    bool beside) {
  const StoreResult<void> started = loop.start();
  if (!started) return std::unexpected(started.error());
  if (!loop.charge()) {
    return std::unexpected(StoreError{.kind = Kind::busy, .reason = "too many transfers"});
  }
  auto transfer = std::make_unique<Transfer>(loop, arrivals);
  transfer->state_ = std::make_shared<TransferState>(
      loop, std::move(request), TransferState::Destination{std::move(arrivals), beside},
      loop.limits(), loop.shares());
  if (loop.post(TransferLoop::Order::begin, transfer->state_)) return transfer;
  loop.discharge();
  return std::unexpected(stopped());
}

void Transfers::stop() noexcept {
  own_->stop();
  shared_->stop();
}

}  // namespace h2server::content::s3
