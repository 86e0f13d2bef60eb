#include "h2server/event_stream.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <deque>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/timer_wheel.h"
#include "h2server/delivery.h"
#include "io/engine.h"
#include "io/mailbox.h"
#include "server/worker_services.h"

namespace h2server {

namespace {

using Bytes = std::shared_ptr<const std::string>;

// An event on its way to the clients.
struct Sent {
  std::uint64_t number = 0;  // ascending
  Bytes bytes = nullptr;     // null: the end of all responses
  bool lost = false;         // events before this one are lost: all clients are cut off
};

void check_line(const std::string& text, const char* what) {
  if (text.find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos)
    throw std::invalid_argument(std::string(what) + " of an event with a line break or NUL");
}

// HTML Living Standard, 9.2.6: CR, LF and CRLF end a line.
std::string encode(const Event& event) {
  check_line(event.type, "the type");
  check_line(event.id, "the id");
  std::string bytes;
  if (!event.type.empty()) bytes.append("event: ").append(event.type).append("\n");
  if (!event.id.empty()) bytes.append("id: ").append(event.id).append("\n");
  if (event.retry) {
    bytes.append("retry: ").append(std::to_string(event.retry->count())).append("\n");
  }
  std::string_view rest = event.data;
  for (;;) {
    const std::size_t end = rest.find_first_of("\r\n");
    bytes.append("data: ").append(rest.substr(0, end)).append("\n");
    if (end == std::string_view::npos) break;
    const bool crlf = rest.substr(end).starts_with("\r\n");
    rest.remove_prefix(end + (crlf ? 2 : 1));
  }
  bytes.append("\n");
  return bytes;
}

class Shard;

// The events of one client, as the body of its response. Lives on its worker.
class Subscription final : public BodySource {
 public:
  // `first` is the number of the first event for this client; the shard may have older ones.
  Subscription(std::shared_ptr<Shard> shard, Request& request, std::size_t waiting_max,
               std::uint64_t first, std::vector<Bytes> missed);
  ~Subscription() override;

  Task<Result<std::string_view>> read() override;

  void add(const Sent& sent);
  void cut_off();
  void end();

  Subscription* next = nullptr;  // in the shard's list
  Subscription** link = nullptr;

 private:
  void notify() {
    if (wanted_ != nullptr) std::exchange(wanted_, nullptr)->complete();
  }

  const std::shared_ptr<Shard> shard_;
  Request& request_;
  const std::size_t waiting_max_;
  const std::uint64_t first_number_;
  std::vector<Bytes> waiting_;
  Bytes current_;  // lent to the reader
  coro::StoppableWait* wanted_ = nullptr;
  bool ended_ = false;
};

// The clients of one worker.
class Shard final : public coro::Delivery,
                    private coro::StopHook,
                    public std::enable_shared_from_this<Shard> {
 public:
  // On the worker's thread.
  Shard(coro::MailboxRef mailbox, const EventStreamOptions& options)
      : mailbox_(std::move(mailbox)),
        waiting_max_(options.waiting_max),
        keep_alive_ms_(options.keep_alive.count()) {}

  [[nodiscard]] const io::Mailbox* mailbox() const noexcept { return mailbox_.get(); }
  [[nodiscard]] std::size_t count() const noexcept { return count_.load(); }

  // On the worker's thread.
  void add(Subscription& one) {
    one.next = first_;
    one.link = &first_;
    if (first_ != nullptr) first_->link = &one.next;
    first_ = &one;
    if (count_.fetch_add(1) == 0) begin();
  }
  void remove(Subscription& one) noexcept {
    *one.link = one.next;
    if (one.next != nullptr) one.next->link = one.link;
    if (visited_ == &one) visited_ = one.next;
    if (count_.fetch_sub(1) == 1) finish();
  }

  // Any thread. Returns false if the worker has ended.
  bool send(const Sent& sent) {
    if (count() == 0) return true;
    const std::lock_guard lock(mutex_);
    if (arrived_.size() > waiting_max_) {  // the worker is busy
      arrived_.clear();
      overflowed_ = true;
    }
    arrived_.push_back(sent);
    return post();
  }

 private:
  void arrive() noexcept override {
    std::shared_ptr<Shard> self;  // may be the last reference
    {
      const std::lock_guard lock(mutex_);
      self = std::move(posted_);
      if (std::exchange(overflowed_, false)) {
        arrived_.clear();
        give_instead(Sent{.lost = true});
      }
      if (giving_.empty()) giving_.swap(arrived_);
    }
    give_some();
  }
  void drop() noexcept override {
    std::shared_ptr<Shard> self;  // may be the last reference
    const std::lock_guard lock(mutex_);
    self = std::move(posted_);
  }
  void on_stop(StopReason) noexcept override {
    // With the last client goes the last use on this thread: another one may drop the hub's.
    const std::shared_ptr<Shard> self = shared_from_this();
    give_instead({});
    give_some();
  }

  void give_instead(const Sent& sent) {
    giving_.assign(1, sent);
    begun_ = false;
    visited_ = nullptr;
  }

  // Gives the events that wait to some clients. The others have their turn after what else waits
  // for this worker; until then the memory of these sends can be used again. A client that gets an
  // event may end, and others with it.
  void give_some() {
    constexpr int clients_max = 256;
    if (std::exchange(gives_, true)) return;
    for (int left = clients_max; left > 0 && !giving_.empty();) {
      const Sent sent = giving_.front();
      if (!std::exchange(begun_, true)) visited_ = first_;
      for (; visited_ != nullptr && left > 0; --left) {
        Subscription& one = *std::exchange(visited_, visited_->next);
        if (sent.lost) one.cut_off();
        else if (sent.bytes != nullptr) one.add(sent);
        else one.end();
      }
      if (visited_ != nullptr || !begun_) continue;
      giving_.pop_front();
      begun_ = false;
    }
    gives_ = false;
    sent_ms_ = io::Engine::current()->now_ms();
    const std::lock_guard lock(mutex_);
    if (!giving_.empty() || !arrived_.empty()) post();
  }

  // With the lock held. Returns false if the worker has ended.
  bool post() {
    if (posted_ != nullptr) return true;
    posted_ = shared_from_this();
    if (coro::post(*mailbox_, *this)) return true;
    posted_ = nullptr;
    return false;
  }

  // The first client of the worker has come.
  void begin() {
    server::WorkerServices* const services = server::WorkerServices::of_this_thread();
    if (!services->draining().stopped()) hook(services->draining());
    engine_ = io::Engine::current()->loop();
    sent_ms_ = engine_->now_ms();
    timer_.owner = this;
    timer_.fire = [](base::Timer& timer) { static_cast<Shard*>(timer.owner)->keep_alive(); };
    if (keep_alive_ms_ > 0) engine_->arm_timer(timer_, sent_ms_ + keep_alive_ms_);
  }
  void finish() noexcept {
    unhook();
    engine_->disarm_timer(timer_);
  }
  void keep_alive() {
    const std::shared_ptr<Shard> self = shared_from_this();  // as in on_stop()
    static const Bytes comment = std::make_shared<const std::string>(":\n\n");
    const std::int64_t now_ms = engine_->now_ms();
    if (now_ms >= sent_ms_ + keep_alive_ms_ && giving_.empty()) {
      giving_.push_back({std::numeric_limits<std::uint64_t>::max(), comment});
      give_some();
    }
    if (first_ != nullptr) engine_->arm_timer(timer_, sent_ms_ + keep_alive_ms_);
  }

  const coro::MailboxRef mailbox_;
  const std::size_t waiting_max_;
  const std::int64_t keep_alive_ms_;
  std::mutex mutex_;
  std::deque<Sent> arrived_;  // at most waiting_max_ + 1
  bool overflowed_ = false;
  std::shared_ptr<Shard> posted_;  // this, while it is in the mailbox
  std::atomic<std::size_t> count_{0};
  // On the worker's thread.
  Subscription* first_ = nullptr;
  std::deque<Sent> giving_;          // on their way; arrived_ comes after them
  Subscription* visited_ = nullptr;  // the next one that gets the first of them
  bool begun_ = false;               // some have got it
  bool gives_ = false;               // give_some() runs
  io::Engine* engine_ = nullptr;
  base::Timer timer_;
  std::int64_t sent_ms_ = 0;
};

Subscription::Subscription(std::shared_ptr<Shard> shard, Request& request, std::size_t waiting_max,
                           std::uint64_t first, std::vector<Bytes> missed)
    : shard_(std::move(shard)),
      request_(request),
      waiting_max_(waiting_max),
      first_number_(first),
      waiting_(std::move(missed)) {
  shard_->add(*this);
}

Subscription::~Subscription() { shard_->remove(*this); }

void Subscription::add(const Sent& sent) {
  if (ended_ || sent.number < first_number_) return;
  if (waiting_.size() >= waiting_max_) {
    cut_off();
    return;
  }
  waiting_.push_back(sent.bytes);
  notify();
}

void Subscription::cut_off() {
  if (ended_) return;
  ended_ = true;
  request_.abort();
}

void Subscription::end() {
  ended_ = true;
  notify();
}

Task<Result<std::string_view>> Subscription::read() {
  current_ = nullptr;
  if (waiting_.empty() && !ended_) {
    coro::StoppableWait wait;
    wanted_ = &wait;
    const bool notified = co_await wait;
    wanted_ = nullptr;
    if (!notified) co_return std::unexpected(Error{ECANCELED, "events"});
  }
  if (waiting_.empty()) co_return std::string_view();
  current_ = std::move(waiting_.front());
  waiting_.erase(waiting_.begin());
  co_return std::string_view(*current_);
}

}  // namespace

class EventStream::Hub {
 public:
  explicit Hub(const EventStreamOptions& options) : options_(options) {}

  std::unique_ptr<BodySource> subscribe(Request& request) {
    const std::string last_id(request.field("last-event-id").value_or(""));
    const std::lock_guard lock(mutex_);
    if (closed_) return nullptr;
    return std::make_unique<Subscription>(own_shard(), request, options_.waiting_max, next_number_,
                                          after(last_id));
  }

  void send(const Event& event) {
    Bytes bytes = std::make_shared<const std::string>(encode(event));
    const std::lock_guard lock(mutex_);
    if (options_.history_max > 0 && !event.id.empty()) {
      if (history_.size() == options_.history_max) history_.pop_front();
      history_.push_back({event.id, bytes});
    }
    give({next_number_++, std::move(bytes)});
  }

  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    give({});
  }

  [[nodiscard]] std::size_t clients() const noexcept {
    const std::lock_guard lock(mutex_);
    std::size_t count = 0;
    for (const auto& shard : shards_) count += shard->count();
    return count;
  }

 private:
  struct Past {
    std::string id;
    Bytes bytes;
  };

  void give(const Sent& sent) {
    std::erase_if(shards_, [&](const auto& shard) { return !shard->send(sent); });
  }
  std::shared_ptr<Shard> own_shard() {
    coro::MailboxRef mailbox = coro::own_mailbox();
    // With a loop for each connection, shards come and go.
    std::erase_if(shards_,
                  [](const auto& shard) { return shard->count() == 0 && shard.use_count() == 1; });
    for (const auto& shard : shards_) {
      if (shard->mailbox() == mailbox.get()) return shard;
    }
    return shards_.emplace_back(std::make_shared<Shard>(std::move(mailbox), options_));
  }
  // The events after the one with that id; none if it is unknown.
  [[nodiscard]] std::vector<Bytes> after(const std::string& id) const {
    std::vector<Bytes> missed;
    const auto last = std::ranges::find(history_, id, &Past::id);
    if (last == history_.end()) return missed;
    for (auto past = last + 1; past != history_.end(); ++past) missed.push_back(past->bytes);
    return missed;
  }

  const EventStreamOptions options_;
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<Shard>> shards_;
  std::deque<Past> history_;
  std::uint64_t next_number_ = 0;
  bool closed_ = false;
};

EventStream::EventStream(EventStreamOptions options) : hub_(std::make_shared<Hub>(options)) {}
EventStream::~EventStream() { hub_->close(); }

Response EventStream::subscribe(Request& request) {
  const server::WorkerServices* const services = server::WorkerServices::of_this_thread();
  if (services == nullptr) throw std::logic_error("subscribe() is called outside of a handler");
  Response response;
  if (services->draining().stopped()) {
    response = Response(200, "", "text/event-stream");  // it ends, so the client reconnects
  } else {
    std::unique_ptr<BodySource> source = hub_->subscribe(request);
    // HTML Living Standard, 9.2.3: 204 tells the client not to reconnect.
    if (source == nullptr) return Response(204);
    response = Response(std::move(source), "text/event-stream");
  }
  response.add("Cache-Control", "no-store");
  return response;
}

void EventStream::send(const Event& event) { hub_->send(event); }
void EventStream::close() { hub_->close(); }
std::size_t EventStream::clients() const noexcept { return hub_->clients(); }

}  // namespace h2server
