#include "app/tools/memory_limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <climits>

#include "app/doctor/doctor_text.h"
#include "base/memory/buffer_chain.h"
#include "content/cache/object_cache.h"
#include "content/coding/encoded_copies.h"
#include "content/files/listings.h"
#include "content/uploads/area/lock_table.h"
#include "file/cache.h"
#include "observe/log_ring.h"
#include "server/system_limits.h"

namespace h2server::app {

namespace {

std::uint64_t clients_of(const config::Configuration& configuration) {
  const std::uint64_t asked = configuration.server.memory_max;
  return asked != 0 ? asked : server::usual_memory_max();
}

// The path of a lock is the longest part, with that of its root; its token and the like are small.
constexpr std::uint64_t lock_bytes_max = content::LockLimits::owner_bytes_max + 2 * PATH_MAX + 512;

template <class Is>
std::uint64_t sites_that(const config::Configuration& configuration, Is is) {
  return static_cast<std::uint64_t>(std::ranges::count_if(configuration.sites, is));
}

}  // namespace

std::vector<MemoryLimit> memory_limits(const config::Configuration& configuration) {
  const std::uint64_t clients = clients_of(configuration);
  const std::uint64_t eighth = server::memory_allowed() / 8;
  const file::CacheLimits files;
  std::vector<MemoryLimit> all{
      {"what clients make it hold (memory)", clients},
      {"the file cache", std::min<std::uint64_t>(files.bytes_max, eighth)},
      {"snapshots of files", std::min<std::uint64_t>(files.snapshots_bytes_max, eighth)},
      {"encoded copies", std::min<std::uint64_t>(content::CopyBudget::of_process().bytes_max(),
                                                 clients / content::CopyBudget::parts)}};
  const auto has_store = [](const config::Site& site) { return !site.store.place.empty(); };
  if (sites_that(configuration, has_store) > 0) {
    all.push_back({"objects of stores",
                   std::min<std::uint64_t>(content::ObjectCache::budget_of_process().bytes_max(),
                                           clients / content::CopyBudget::parts)});
  }
  const auto lists = [](const config::Site& site) { return site.files.listing; };
  const std::uint64_t listings = std::min<std::uint64_t>(content::ListingsLimits().bytes_max,
                                                         clients / content::ListingsLimits::parts);
  const auto has_uploads = [](const config::Site& site) { return site.has_uploads(); };
  const std::uint64_t roots =
      sites_that(configuration, lists) + sites_that(configuration, has_uploads);
  all.push_back({"listings", roots * listings});
  const auto has_locks = [](const config::Site& site) { return site.webdav; };
  if (const std::uint64_t sites = sites_that(configuration, has_locks); sites > 0) {
    all.push_back({"locks of WebDAV", sites * content::LockLimits::locks_max * lock_bytes_max});
  }
  const auto logs = [](const config::Site& site) { return !site.access_log.empty(); };
  const std::uint64_t workers = std::max(configuration.server.threads, 1U);
  all.push_back({"buffers that threads keep", workers * base::BufferChain::kept_bytes_max});
  if (sites_that(configuration, logs) > 0) {
    all.push_back({"lines of the access log", workers * observe::LogRing::bytes_default});
  }
  return all;
}

std::string memory_limits_text(const config::Configuration& configuration) {
  const std::vector<MemoryLimit> all = memory_limits(configuration);
  std::string text;
  std::uint64_t sum = 0;
  for (const MemoryLimit& limit : all) {
    text += fmt::format("{:>10}  {}\n", bytes_text(limit.bytes), limit.name);
    sum += limit.bytes;
  }
  text += fmt::format("{:>10}  in all, of {} that this process may use\n", bytes_text(sum),
                      bytes_text(server::memory_allowed()));
  const std::uint64_t clients = all.front().bytes;
  text += fmt::format(
      "\nFrom {} for clients on, requests that cost memory get 503. From {} on, the clients that\n"
      "hold most are cut off. Code, threads and connections (about 8 KiB each) come on top.\n",
      bytes_text(clients / 2), bytes_text(clients - clients / 4));
  return text;
}

}  // namespace h2server::app
