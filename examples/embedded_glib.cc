// A server without threads in a main loop of GLib, as GTK programs have one: a timer of GLib and
// the handlers use the same variable without a lock.
//
//   build/release/examples/embedded_glib 8080
//   curl http://127.0.0.1:8080/          # how many seconds the program has run
#include <glib-unix.h>
#include <h2server/h2server.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

using namespace h2server;

struct Program {
  Server server;
  GMainLoop* loop = g_main_loop_new(nullptr, FALSE);
  int seconds = 0;
};

Program& program_of(gpointer data) { return *static_cast<Program*>(data); }

gboolean on_ready(gint, GIOCondition, gpointer data) {
  Program& program = program_of(data);
  program.server.poll();
  if (program.server.ended()) g_main_loop_quit(program.loop);
  return G_SOURCE_CONTINUE;
}

gboolean on_second(gpointer data) {
  ++program_of(data).seconds;
  return G_SOURCE_CONTINUE;
}

gboolean on_signal(gpointer data) {
  program_of(data).server.stop();  // on_ready() is called for what follows
  return G_SOURCE_CONTINUE;
}

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: %s PORT\n", argv[0]), 2;
  const auto port = static_cast<std::uint16_t>(std::atoi(argv[1]));
  Program program{
      .server =
          Server({.host = "127.0.0.1", .port = port, .cleartext = true, .foreign_loop = true})};
  program.server.get(
      "/", [&program](Request&) { return Response::text(std::to_string(program.seconds) + "\n"); });
  if (const auto started = program.server.start(); !started) {
    return std::fprintf(stderr, "%s\n", started.error().c_str()), 1;
  }
  std::printf("http://127.0.0.1:%d/\n", program.server.addresses().front().port);
  std::fflush(stdout);

  g_unix_fd_add(program.server.descriptor(), G_IO_IN, on_ready, &program);
  g_unix_signal_add(SIGTERM, on_signal, &program);
  g_unix_signal_add(SIGINT, on_signal, &program);
  g_timeout_add_seconds(1, on_second, &program);
  g_main_loop_run(program.loop);
  g_main_loop_unref(program.loop);
  return program.server.wait() ? 0 : 1;
}
