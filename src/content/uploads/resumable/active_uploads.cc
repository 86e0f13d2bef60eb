#include "content/uploads/resumable/active_uploads.h"

#include <atomic>
#include <cerrno>
#include <exception>
#include <utility>

#include "io/engine.h"

namespace h2server::content {

// Kept alive by the registration, by those who wait, and by itself while it is posted.
class ActiveUploads::Entry final : public coro::Delivery {
 public:
  Entry(Request& request, std::uint64_t number, coro::MailboxRef mailbox)
      : number_(number), request_(&request), mailbox_(std::move(mailbox)) {}

  // The request's thread alone uses request_, so it can't end meanwhile.
  void end() {
    request_ = nullptr;
    ended_.close();
  }
  // Any thread. Only the first call has an effect. `self` owns this.
  void abort(std::shared_ptr<Entry> self) {
    if (posted_.exchange(true)) return;
    self_ = std::move(self);
    if (!coro::post(*mailbox_, *this)) drop();
  }
  Channel<bool>& ended() noexcept { return ended_; }
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }

 private:
  void arrive() noexcept override {
    if (request_ != nullptr) request_->abort();
    drop();
  }
  void drop() noexcept override { const std::shared_ptr<Entry> last = std::exchange(self_, {}); }

  const std::uint64_t number_;
  Request* request_;
  const coro::MailboxRef mailbox_;
  std::shared_ptr<Entry> self_;
  std::atomic<bool> posted_{false};
  Channel<bool> ended_{1};
};

void ActiveUploads::Registration::enter(const std::string& id) {
  // A thread that blocks while it reads does not take what is posted to it.
  const io::Engine* const engine = io::Engine::current();
  if (engine == nullptr || !engine->has_loop()) return;
  try {
    entry_ = std::make_shared<Entry>(request_, number_, coro::own_mailbox());
  } catch (const std::exception&) {
    return;  // no descriptors
  }
  id_ = id;
  const std::lock_guard lock(uploads_.mutex_);
  uploads_.entries_.insert_or_assign(id_, entry_);
}

ActiveUploads::Registration::~Registration() {
  if (entry_ == nullptr) return;
  {
    const std::lock_guard lock(uploads_.mutex_);
    const auto found = uploads_.entries_.find(id_);
    if (found != uploads_.entries_.end() && found->second == entry_) uploads_.entries_.erase(found);
  }
  entry_->end();
}

std::shared_ptr<ActiveUploads::Entry> ActiveUploads::find(std::string_view id) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(id);
  return found == entries_.end() ? nullptr : found->second;
}

Task<bool> ActiveUploads::take_over(std::string id, std::uint64_t number) {
  const std::shared_ptr<Entry> entry = find(id);
  if (entry == nullptr || entry->number() > number) co_return false;
  entry->abort(entry);
  const Result<bool> ended = co_await entry->ended().receive();
  co_return !ended && ended.error().code == EPIPE;
}

}  // namespace h2server::content
