// Service: what the connections of one worker share, and who answers their requests.
#pragma once

#include <cstdint>

#include "base/assert.h"
#include "base/counter.h"
#include "http/date_cache.h"
#include "http/exchange.h"
#include "http/limits.h"
#include "http/router.h"

namespace h2server::http {

// A connection that is told when the server stops: it finishes what is under way.
class Drainable {
 public:
  virtual void drain() = 0;

 protected:
  Drainable() = default;
  Drainable(const Drainable&) = delete;
  Drainable& operator=(const Drainable&) = delete;
  virtual ~Drainable() = default;

 private:
  friend class DrainList;
  Drainable* next_ = nullptr;
  Drainable** link_ = nullptr;  // what points here
};

// Who is to be told. Members leave in any order, also while they are being told.
class DrainList {
 public:
  DrainList() = default;
  DrainList(const DrainList&) = delete;
  DrainList& operator=(const DrainList&) = delete;

  [[nodiscard]] bool draining() const noexcept { return draining_; }

  void add(Drainable& member) noexcept {
    ASSERT(member.link_ == nullptr);
    insert(first_, member);
  }

  static void remove(Drainable& member) noexcept {
    *member.link_ = member.next_;
    if (member.next_ != nullptr) member.next_->link_ = member.link_;
    member.link_ = nullptr;
  }

  void drain() {
    draining_ = true;
    // One by one onto a list of those that know: telling one may end it, and others with it.
    while (first_ != nullptr) {
      Drainable& member = *first_;
      remove(member);
      insert(told_, member);
      member.drain();
    }
  }

 private:
  static void insert(Drainable*& head, Drainable& member) noexcept {
    member.next_ = head;
    member.link_ = &head;
    if (head != nullptr) head->link_ = &member.next_;
    head = &member;
  }

  Drainable* first_ = nullptr;
  Drainable* told_ = nullptr;
  bool draining_ = false;
};

class WindowBudget;

struct Service {
  const Router& router;
  const Limits& limits;
  DateCache date{};
  DrainList connections{};
  base::Counter* streams = nullptr;  // of HTTP/2 that are open, if anybody wants to know
  WindowBudget* windows = nullptr;   // by which receive windows may grow; null: they don't
};

// The handler for the request in `exchange.head`, whose target is parsed here; null when the server
// answers itself: `exchange.response` says what.
const Handler* find_handler(const Service& service, Exchange& exchange);

// Call the handler. What it throws becomes 500 here, and here only. At once: without its coroutine;
// nullopt: that is needed.
std::optional<Response> answer_at_once(const Handler& handler, Request& request) noexcept;
Task<Response> call_coroutine(const Handler::Coroutine& handler, Request& request);
// Reads the handler's body. What the source throws becomes an error: the head has left already.
Task<Result<std::string_view>> read_source(BodySource& source);

}  // namespace h2server::http
