#include "http/drain_list.h"

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace h2server::http {
namespace drain_list_test {

struct Member final : Drainable {
  Member(DrainList& all, std::string text) : list(all), name(std::move(text)) { list.add(*this); }
  ~Member() { list.remove(*this); }
  void drain() override {
    ++drained;
    if (on_drain) on_drain();
  }
  void retire() override { ++retired; }
  void cancel() override { ++cancel_count; }
  void shed() override { ++shed_count; }
  void name_unfinished(std::vector<std::string>& names) const override { names.push_back(name); }

  DrainList& list;
  std::string name;
  std::function<void()> on_drain;
  int drained = 0;
  int retired = 0;
  int shed_count = 0;
  int cancel_count = 0;
};

TEST(DrainList, ShedsTheLongestIdleFirst) {
  DrainList list;
  Member a(list, "a"), b(list, "b"), c(list, "c"), busy(list, "busy");
  for (Member* const member : {&b, &a, &c}) list.set_idle(*member);
  list.set_idle(b);  // again: moves b to the end
  for (Member* const next : {&a, &c, &b}) {
    EXPECT_TRUE(list.shed_longest_idle());
    EXPECT_EQ(next->shed_count, 1);
  }
  EXPECT_FALSE(list.shed_longest_idle());
  EXPECT_EQ(busy.shed_count, 0);
}

TEST(DrainList, MembersLeaveFromEverywhere) {
  DrainList list;
  std::deque<Member> members;
  for (int i = 0; i < 6; ++i) members.emplace_back(list, std::to_string(i));
  for (int i = 1; i < 6; ++i) list.set_idle(members[static_cast<std::size_t>(i)]);
  members.pop_back();   // the last idle one
  members.pop_front();  // a busy one
  list.set_busy(members[1]);
  Member last(list, "last");
  list.set_idle(last);
  EXPECT_EQ(list.name_unfinished(), (std::vector<std::string>{"2", "1", "3", "4", "last"}));
  list.drain();
  for (const Member& member : members) EXPECT_EQ(member.drained, 1);
  EXPECT_EQ(last.drained, 1);
}

TEST(DrainList, OneThatIsToldMayEndOthers) {
  DrainList list;
  std::optional<Member> first(std::in_place, list, "first");
  std::optional<Member> second(std::in_place, list, "second");
  list.set_idle(*first);
  second->on_drain = [&first] { first.reset(); };
  list.drain();
  EXPECT_TRUE(list.draining());
  EXPECT_EQ(list.name_unfinished(), std::vector<std::string>{"second"});
  list.set_idle(*second);  // no effect once draining
  EXPECT_FALSE(list.shed_longest_idle());
}

TEST(DrainList, TellsEveryMemberOnce) {
  DrainList list;
  const Member first(list, "first");
  const Member second(list, "second");
  EXPECT_FALSE(list.draining());
  list.drain();
  list.drain();
  EXPECT_EQ(first.drained, 1);
  EXPECT_EQ(second.drained, 1);
}

TEST(DrainList, OneThatIsToldMayLeaveItself) {
  DrainList list;
  std::optional<Member> first(std::in_place, list, "first");
  const Member second(list, "second");
  first->on_drain = [&first] {
    const std::function<void()> self = std::move(first->on_drain);
    first.reset();
  };
  list.drain();
  EXPECT_FALSE(first.has_value());
  EXPECT_EQ(second.drained, 1);
}

TEST(DrainList, DrainsWhatPauses) {
  DrainList list;
  Member busy(list, "busy"), idle(list, "idle"), at_work(list, "at work"), late(list, "late");
  for (Member* const member : {&idle, &at_work}) list.set_idle(*member);
  list.drain_paused();
  EXPECT_EQ(idle.drained + at_work.drained, 0);
  list.set_busy(at_work);
  list.set_idle(at_work);
  list.set_idle(late);
  list.drain_paused();
  EXPECT_EQ(idle.drained, 1);
  EXPECT_EQ(busy.drained + at_work.drained + late.drained, 0);
  EXPECT_FALSE(list.draining());
  list.set_busy(idle);  // one more request came before it knew
  list.set_idle(idle);
  list.drain_paused();
  EXPECT_EQ(at_work.drained, 1);
  EXPECT_EQ(late.drained, 1);
  EXPECT_EQ(idle.drained, 1);
  list.drain_paused();
  EXPECT_EQ(idle.drained, 2);
}

TEST(DrainList, DrainsWhatHasRetired) {
  DrainList list;
  Member busy(list, "busy"), idle(list, "idle");
  list.set_idle(idle);
  list.retire();
  EXPECT_TRUE(list.draining());
  Member late(list, "late");
  list.set_idle(late);  // no effect
  EXPECT_FALSE(list.shed_longest_idle());
  for (const Member* const member : {&busy, &idle}) {
    EXPECT_EQ(member->retired, 1);
    EXPECT_EQ(member->drained, 0);
  }
  EXPECT_EQ(late.retired, 0);
  {
    const Member gone(list, "gone");
  }
  list.drain();
  for (const Member* const member : {&busy, &idle, &late}) EXPECT_EQ(member->drained, 1);
  list.cancel();
  for (const Member* const member : {&busy, &idle, &late}) EXPECT_EQ(member->cancel_count, 1);
}

}  // namespace drain_list_test
}  // namespace h2server::http
