// A clock in the browser: the server sends the time each second (server-sent events).
//
//   build/release/examples/clock 8080                # then open http://127.0.0.1:8080/
//   build/release/examples/clock 8443 cert.pem key.pem         # HTTP/2 over TLS
//   curl -N http://127.0.0.1:8080/ticks
//   curl -N -H 'Last-Event-ID: 1793000000' http://127.0.0.1:8080/ticks
#include <h2server/h2server.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

using namespace h2server;

constexpr const char* page = R"html(<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Clock</title>
<style>
  :root { --ink: #1c2430; --paper: #fafaf7; --faint: #68707c; }
  @media (prefers-color-scheme: dark) {
    :root { --ink: #e8eaee; --paper: #14181f; --faint: #9aa3b0; }
  }
  body { margin: 0 auto; max-width: 32rem; padding: 12vh 1.25rem; text-align: center;
         font: 1rem/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); }
  time { display: block; font-size: clamp(3rem, 20vw, 6rem); font-variant-numeric: tabular-nums; }
  #state, ol { color: var(--faint); }
  ol { list-style: none; padding: 0; }
</style>
<h1>Clock</h1>
<time aria-live="off">--:--:--</time>
<p id="state" role="status">connecting</p>
<ol reversed></ol>
<script>
  const state = document.querySelector('#state');
  const list = document.querySelector('ol');
  const source = new EventSource('/ticks');  // reconnects by itself, with the last id
  source.onopen = () => { state.textContent = 'live'; };
  source.onerror = () => { state.textContent = 'reconnecting'; };
  source.addEventListener('tick', (event) => {
    document.querySelector('time').textContent = event.data;
    const line = document.createElement('li');
    line.textContent = `event ${event.lastEventId}`;
    list.prepend(line);
    if (list.children.length > 5) list.lastElementChild.remove();
  });
</script>
</html>
)html";

std::string text_of(std::time_t now) {
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[sizeof "23:59:59"];
  return {text, std::strftime(text, sizeof text, "%T", &parts)};
}

// Runs until the server begins to stop.
Task<void> tick(EventStream& ticks) {
  for (;;) {
    const std::time_t now = std::time(nullptr);
    ticks.send({.data = text_of(now), .type = "tick", .id = std::to_string(now)});
    const Result<void> slept = co_await sleep_for(std::chrono::seconds(1));
    if (!slept) break;
  }
}

int main(int argc, char** argv) {
  if (argc != 2 && argc != 4) {
    return std::fprintf(stderr, "usage: %s PORT [CERTIFICATE KEY]\n", argv[0]), 2;
  }
  ServerOptions options{.host = "127.0.0.1"};
  options.port = static_cast<std::uint16_t>(std::atoi(argv[1]));
  options.cleartext = argc == 2;
  if (!options.cleartext) {
    options.certificate_file = argv[2];
    options.key_file = argv[3];
  }
  EventStream ticks({.history_max = 60});  // who was away for a minute misses nothing
  Server server(options);
  server.get("/", [](Request&) { return Response::html(page); });
  server.get("/ticks", [&ticks](Request& request) { return ticks.subscribe(request); });
  server.spawn(tick(ticks));
  const auto done = server.run([&] {
    const char* const scheme = options.cleartext ? "http" : "https";
    std::printf("%s://127.0.0.1:%d/\n", scheme, server.addresses().front().port);
    std::fflush(stdout);
  });
  if (!done) std::fprintf(stderr, "%s\n", done.error().c_str());
  return done ? 0 : 1;
}
