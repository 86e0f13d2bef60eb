#include "content/archive_places.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace h2server::content {
namespace archive_places_test {

using Places = std::vector<std::unique_ptr<ArchivePlaces::Place>>;

// Takes places until one is refused.
Places take_all(const std::shared_ptr<ArchivePlaces>& places, const std::string& client) {
  Places taken;
  while (auto place = ArchivePlaces::take(places, client)) taken.push_back(std::move(place));
  return taken;
}

TEST(ArchivePlaces, NoClientGetsAll) {
  const auto places = std::make_shared<ArchivePlaces>();
  const Places first = take_all(places, "192.0.2.1");
  EXPECT_EQ(first.size(), ArchivePlaces::client_max);
  const Places second = take_all(places, "192.0.2.2");
  EXPECT_EQ(first.size() + second.size(), ArchivePlaces::all_max);
  EXPECT_EQ(take_all(places, "192.0.2.3").size(), 0U);
}

TEST(ArchivePlaces, AreGivenBack) {
  const auto places = std::make_shared<ArchivePlaces>();
  Places first = take_all(places, "192.0.2.1");
  const Places second = take_all(places, "192.0.2.2");
  first.pop_back();
  EXPECT_EQ(take_all(places, "192.0.2.2").size(), 0U);
  EXPECT_NE(ArchivePlaces::take(places, "192.0.2.3"), nullptr);
  first.clear();
  EXPECT_EQ(take_all(places, "192.0.2.1").size(), ArchivePlaces::client_max);
}

}  // namespace archive_places_test
}  // namespace h2server::content
