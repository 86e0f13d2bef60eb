#include "app/admin/store_metrics.h"

#include <optional>
#include <string_view>
#include <vector>

#include "content/cache/disk_counts.h"
#include "content/store/counted_store.h"
#include "observe/open_metrics.h"

namespace h2server::app {

namespace {

using enum observe::OpenMetricsWriter::Type;

void add_cache_metrics(observe::OpenMetricsWriter& writer,
                       const content::DiskCounts::Directory& kept) {
  const content::DiskCounts& counts = content::DiskCounts::of_process();
  writer.family("h2server_store_cache_requests", counter, "",
                "Responses from copies of objects, and objects that had no copy.");
  writer.sample({{"result", "hit"}}, counts.hits.load());
  writer.sample({{"result", "miss"}}, counts.misses.load());
  writer.family("h2server_store_cache_evictions", counter, "", "Copies that have made room.");
  writer.sample({}, counts.evictions.load());
  writer.family("h2server_store_cache_failures", counter, "",
                "Failures of the disk, and damaged copies.");
  writer.sample({}, counts.failures.load());
  writer.family("h2server_store_cache_objects", gauge, "", "Copies of objects.");
  writer.sample({}, kept.objects);
  writer.family("h2server_store_cache_bytes", gauge, "bytes", "Content of the copies.");
  writer.sample({}, kept.bytes);
}

}  // namespace

std::string with_store_metrics(std::string metrics) {
  constexpr std::string_view end = "# EOF\n";
  const content::StoreCounts& counts = content::StoreCounts::of_process();
  const std::vector<content::StoreCounts::Row> rows = counts.rows();
  const std::optional<content::DiskCounts::Directory> kept =
      content::DiskCounts::of_process().sum();
  if ((rows.empty() && !kept) || !metrics.ends_with(end)) return metrics;
  observe::OpenMetricsWriter writer;
  writer.family("h2server_store_requests", counter, "", "What stores were asked for.");
  for (const content::StoreCounts::Row& row : rows) {
    writer.sample({{"op", row.operation}, {"outcome", row.outcome}}, row.count);
  }
  writer.family("h2server_store_requests_in_flight", gauge, "", "Answers that are waited for.");
  writer.sample({}, counts.in_flight());
  writer.family("h2server_store_retries", counter, "", "Requests to stores that were sent again.");
  writer.sample({}, counts.retries());
  writer.family("h2server_store_hedges", counter, "",
                "Requests to stores that were sent twice, since the first answer took long.");
  writer.sample({{"won", "true"}}, counts.hedges(true));
  writer.sample({{"won", "false"}}, counts.hedges(false));
  if (kept) add_cache_metrics(writer, *kept);
  metrics.resize(metrics.size() - end.size());
  return metrics + writer.finish();
}

}  // namespace h2server::app
