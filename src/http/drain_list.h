// DrainList: the open connections of a worker, to drain all of them when the server stops, or to
// close the longest idle one when connections run out. Does not own them. One thread.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "http/drainable.h"

namespace h2server::http {

class DrainList {
 public:
  DrainList() = default;
  DrainList(const DrainList&) = delete;
  DrainList& operator=(const DrainList&) = delete;

  [[nodiscard]] bool draining() const noexcept { return draining_; }
  // Returns true from drain() on: connections need not wait for a request any more.
  [[nodiscard]] bool hurries() const noexcept { return hurries_; }

  // Members may be removed in any order, also within their drain() and shed().
  void add(Drainable& member) noexcept {
    ASSERT(member.link_ == nullptr);
    insert(draining_ ? notified_ : busy_, member);
  }
  void remove(Drainable& member) noexcept {
    unlink(member);
    member.next_ = nullptr;
    member.link_ = nullptr;
  }

  // Nothing is in flight on the connection from now on. It becomes the last one to be shed.
  void set_idle(Drainable& member) noexcept {
    if (draining_) return;
    unlink(member);
    member.pauses_ = false;
    member.next_ = nullptr;
    member.link_ = idle_end_;
    *idle_end_ = &member;
    idle_end_ = &member.next_;
  }
  void set_busy(Drainable& member) noexcept {
    if (draining_) return;
    unlink(member);
    insert(busy_, member);
  }

  // Ends the connection that has been idle longest. Returns false if none is idle.
  bool shed_longest_idle() {
    if (idle_ == nullptr) return false;
    Drainable& member = *idle_;
    set_busy(member);
    member.shed();
    return true;
  }

  // Drains those that have been idle since the last call. The others go on.
  void drain_paused() {
    Drainable* paused = nullptr;
    for (Drainable* next = idle_; next != nullptr;) {
      Drainable& member = *std::exchange(next, next->next_);
      if (!std::exchange(member.pauses_, true)) continue;
      unlink(member);
      insert(paused, member);
    }
    notify(paused, &Drainable::drain);
  }

  void retire() {
    draining_ = true;
    notify(busy_, &Drainable::retire);
    notify(idle_, &Drainable::retire);
  }

  // Also after retire().
  void drain() {
    // Those that have retired do not know yet.
    Drainable* retired = hurries_ ? nullptr : std::exchange(notified_, nullptr);
    draining_ = hurries_ = true;
    if (retired != nullptr) retired->link_ = &retired;
    notify(busy_, &Drainable::drain);
    notify(idle_, &Drainable::drain);
    notify(retired, &Drainable::drain);
  }

  // Call after drain().
  void cancel() {
    while (notified_ != nullptr) {
      Drainable& member = *notified_;
      unlink(member);
      insert(cancelled_, member);
      member.cancel();
    }
  }

  // Calls `visit` with each member, until it returns false.
  void each(const std::function<bool(const Drainable&, bool idle)>& visit) const {
    for (const Drainable* first : {busy_, idle_, notified_, cancelled_}) {
      for (const bool idle = first == idle_; first != nullptr; first = first->next_) {
        if (!visit(*first, idle)) return;
      }
    }
  }

  // Returns all members.
  [[nodiscard]] std::vector<Drainable*> members() {
    std::vector<Drainable*> all;
    for (Drainable* first : {busy_, idle_, notified_, cancelled_}) {
      for (; first != nullptr; first = first->next_) all.push_back(first);
    }
    return all;
  }

  [[nodiscard]] std::vector<std::string> name_unfinished() const {
    std::vector<std::string> names;
    for (const Drainable* first : {busy_, idle_, notified_, cancelled_}) {
      for (; first != nullptr; first = first->next_) first->name_unfinished(names);
    }
    return names;
  }

 private:
  static void insert(Drainable*& head, Drainable& member) noexcept {
    member.next_ = head;
    member.link_ = &head;
    if (head != nullptr) head->link_ = &member.next_;
    head = &member;
  }

  void unlink(Drainable& member) noexcept {
    *member.link_ = member.next_;
    if (member.next_ != nullptr) member.next_->link_ = member.link_;
    if (idle_end_ == &member.next_) idle_end_ = member.link_;
  }

  // Moves each member to notified_ before the call, which may destroy it and other members.
  void notify(Drainable*& first, void (Drainable::*call)()) {
    while (first != nullptr) {
      Drainable& member = *first;
      unlink(member);
      insert(notified_, member);
      (member.*call)();
    }
  }

  Drainable* busy_ = nullptr;
  Drainable* idle_ = nullptr;  // the longest idle first
  Drainable** idle_end_ = &idle_;
  Drainable* notified_ = nullptr;   // drain() or retire() was called
  Drainable* cancelled_ = nullptr;  // cancel() was called
  bool draining_ = false;
  bool hurries_ = false;
};

}  // namespace h2server::http
