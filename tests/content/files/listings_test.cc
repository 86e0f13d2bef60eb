#include "content/files/listings.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "base/memory/memory_budget.h"
#include "content/support.h"
#include "file/folder.h"
#include "http/file_head.h"

namespace h2server::content {
namespace listings_test {

// Of a request that waited for a thread: whoever begins one then is refused before.
TEST(Listings, ReadNothingWhileMemoryIsTight) {
  constexpr std::size_t mib = 1024 * 1024;
  base::MemoryBudget& budget = base::MemoryBudget::of_process();
  const tests::TemporaryDirectory directory;
  directory.write("a/b", "x");
  const file::FolderOptions options{.make_file = http::make_file};
  Listings listings(file::Folder::open(directory.path(), options).value(), {});
  base::MemoryCharge others(base::MemoryOwner::uploads);
  others.set(9 * mib);
  budget.set_limit(16 * mib);
  EXPECT_EQ(tests::run_now(listings.find("a/")).error(), ENOMEM);
  budget.set_limit(base::MemoryBudget::no_limit);
  EXPECT_EQ(tests::run_now(listings.find("a/")).value()->entries.size(), 1U);
}

}  // namespace listings_test
}  // namespace h2server::content
