// A JSON service for notes, which are in an SQLite database.
//
//   build/release/examples/notes 8080 notes.db
//   curl -d '{"text":"milk"}' -H 'Content-Type: application/json' http://127.0.0.1:8080/notes
//   curl http://127.0.0.1:8080/notes
//   curl -X DELETE http://127.0.0.1:8080/notes/1
//
// The third argument is the address to listen at, 127.0.0.1 if it is omitted.
#include "notes_routes.h"

#include <h2server/h2server.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

using namespace h2server;

int main(int argc, char** argv) try {
  if (argc < 2 || argc > 4) {
    return std::fprintf(stderr, "usage: %s PORT [DATABASE [HOST]]\n", argv[0]), 2;
  }
  const auto port = static_cast<std::uint16_t>(std::atoi(argv[1]));
  NoteStore store(argc > 2 ? argv[2] : ":memory:");
  Server server({.host = argc > 3 ? argv[3] : "127.0.0.1",
                 .port = port,
                 .cleartext = true,
                 .threads = processors_allowed()});
  notes::add_routes(server, store);
  const auto done = server.run([&server] {
    std::printf("http://127.0.0.1:%d/notes\n", server.addresses().front().port);
    std::fflush(stdout);
  });
  if (!done) std::fprintf(stderr, "%s\n", done.error().c_str());
  return done ? 0 : 1;
} catch (const std::exception& error) {
  return std::fprintf(stderr, "%s\n", error.what()), 1;
}
