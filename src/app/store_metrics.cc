#include "app/store_metrics.h"

#include <string_view>
#include <vector>

#include "content/counted_store.h"
#include "observe/open_metrics.h"

namespace h2server::app {

std::string with_store_metrics(std::string metrics) {
  using enum observe::OpenMetricsWriter::Type;
  constexpr std::string_view end = "# EOF\n";
  const content::StoreCounts& counts = content::StoreCounts::of_process();
  const std::vector<content::StoreCounts::Row> rows = counts.rows();
  if (rows.empty() || !metrics.ends_with(end)) return metrics;
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
  metrics.resize(metrics.size() - end.size());
  return metrics + writer.finish();
}

}  // namespace h2server::app
