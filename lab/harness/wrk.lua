-- One JSON line of what wrk measured. Latencies as [µs, requests] at a thousand quantiles, and
-- finer in the last percent.
done = function(summary, latency, requests)
  local buckets, before = {}, 0
  local function add(percentile)
    local count = math.floor(summary.requests * percentile / 100 + 0.5)
    if count > before then
      local us = percentile >= 100 and latency.max or latency:percentile(percentile)
      buckets[#buckets + 1] = string.format("[%d,%d]", us, count - before)
      before = count
    end
  end
  for i = 1, 989 do add(i / 10) end
  for i = 9900, 9999 do add(i / 100) end
  add(99.999)
  add(100)
  local e = summary.errors
  print(string.format(
    'JSON {"requests":%d,"us":%d,"bytes":%d,"errors":%d,"mean_us":%.1f,"histogram":[%s]}',
    summary.requests, summary.duration, summary.bytes,
    e.connect + e.read + e.write + e.status + e.timeout, latency.mean,
    table.concat(buckets, ",")))
end
