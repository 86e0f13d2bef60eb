#include "io/mailbox.h"

#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

namespace h2server {

namespace io {

namespace {

constexpr char local_key = 0;  // its address is the key

struct Local final : EngineLocal {
  explicit Local(Engine& engine) : mailbox(std::make_shared<Mailbox>(engine)) {}
  ~Local() override { mailbox->close(); }
  void woken() override { mailbox->deliver(); }

  const std::shared_ptr<Mailbox> mailbox;
};

struct ClosedMark final : coro::Delivery {
  void arrive() noexcept override {}
  void drop() noexcept override {}
};
constinit ClosedMark closed_mark;

}  // namespace

Engine& own_loop() {
  Engine* const engine = Engine::current();
  if (engine == nullptr) throw std::logic_error("a wait of h2server outside of a handler");
  Engine* const loop = engine->loop();
  if (loop == nullptr) throw std::system_error(EMFILE, std::generic_category());
  return *loop;
}

std::shared_ptr<Mailbox> Mailbox::add_to(Engine& engine) {
  auto local = std::make_unique<Local>(engine);
  std::shared_ptr<Mailbox> mailbox = local->mailbox;
  engine.set_local(&local_key, std::move(local));
  return mailbox;
}

std::shared_ptr<Mailbox> Mailbox::of(const Engine& engine) noexcept {
  const auto* const local = static_cast<const Local*>(engine.local(&local_key));
  return local != nullptr ? local->mailbox : nullptr;
}

// close() waits for waking_, so the engine lives until wake() has returned.
bool Mailbox::post(coro::Delivery& delivery) noexcept {
  waking_.fetch_add(1, std::memory_order_seq_cst);
  coro::Delivery* newest = newest_.load(std::memory_order_seq_cst);
  bool open;
  do {
    open = newest != &closed_mark;
    delivery.next_ = newest;
  } while (open && !newest_.compare_exchange_weak(newest, &delivery, std::memory_order_seq_cst));
  // Only the first post wakes: the engine takes all of them.
  if (open && newest == nullptr) engine_.wake();
  waking_.fetch_sub(1, std::memory_order_release);
  return open;
}

coro::Delivery* Mailbox::reversed(coro::Delivery* newest) noexcept {
  coro::Delivery* oldest = nullptr;
  while (newest != nullptr) {
    coro::Delivery* const next = std::exchange(newest->next_, oldest);
    oldest = std::exchange(newest, next);
  }
  return oldest;
}

void Mailbox::deliver() noexcept {
  if (newest_.load(std::memory_order_relaxed) == nullptr) return;
  coro::Delivery* first = reversed(newest_.exchange(nullptr, std::memory_order_acquire));
  while (first != nullptr) {
    coro::Delivery& delivery = *std::exchange(first, first->next_);
    delivery.arrive();
  }
}

void Mailbox::close() noexcept {
  coro::Delivery* first = reversed(newest_.exchange(&closed_mark, std::memory_order_seq_cst));
  while (first != nullptr) {
    coro::Delivery& delivery = *std::exchange(first, first->next_);
    delivery.drop();
  }
  while (waking_.load(std::memory_order_seq_cst) != 0) std::this_thread::yield();
}

}  // namespace io

namespace coro {

MailboxRef own_mailbox() { return io::Mailbox::of(io::own_loop()); }

bool post(io::Mailbox& mailbox, Delivery& delivery) noexcept { return mailbox.post(delivery); }

}  // namespace coro

}  // namespace h2server
