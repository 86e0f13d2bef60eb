// The routes of the notes service. The program (notes.cc) and its tests share them.
//
//   GET    /notes       the newest notes: [{"id":1,"text":"milk"}]
//   POST   /notes       creates one of {"text":"milk"}: 201 and Location
//   GET    /notes/{id}  one note
//   DELETE /notes/{id}  204
//
// Errors are application/problem+json (RFC 9457).
#pragma once

#include <h2server/h2server.h>

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "notes_store.h"

namespace notes {

using h2server::Failure;
using h2server::json_string;
using h2server::Request;
using h2server::Response;
using h2server::Result;
using h2server::run_blocking;
using h2server::Server;
using h2server::Task;

constexpr std::size_t body_bytes_max = 16 * 1024;  // 1000 characters, each of them as \uXXXX\uXXXX
constexpr int notes_listed_max = 100;

inline std::string json_of(const Note& note) {
  return "{\"id\":" + std::to_string(note.id) + ",\"text\":" + json_string(note.text) + "}";
}

// Returns nullopt unless the whole parameter is a number.
inline std::optional<std::int64_t> id_of(const Request& request) {
  const std::string_view text = request.param("id");
  std::int64_t id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return id;
}

inline Task<Response> list(NoteStore& store, Request&) {
  const auto notes = co_await run_blocking(
      [&store](std::stop_token stop) { return store.list(notes_listed_max, stop); });
  std::string json = "[";
  for (const Note& note : notes.value()) {  // throws if too many calls wait: 503
    if (json.size() > 1) json += ',';
    json += json_of(note);
  }
  co_return Response::json(json + "]\n");
}

inline Task<Response> create(NoteStore& store, Request& request) {
  if (!request.field("content-type").value_or("").starts_with("application/json")) {
    co_return Response::problem({.status = 415, .detail = "Send application/json."});
  }
  const Result<std::string> body = co_await request.read_all(body_bytes_max);
  const std::string& json = body.value();  // throws if it is too long: 413
  const auto added = co_await run_blocking(
      [&store, &json](std::stop_token stop) { return store.add(json, stop); });
  const std::optional<Note>& note = added.value();
  if (!note) {
    co_return Response::problem(
        {.status = 422, .detail = "Send {\"text\":\"...\"} with 1 to 1000 characters."});
  }
  Response response = Response::json(json_of(*note) + "\n", 201);
  response.add("Location", "/notes/" + std::to_string(note->id));
  co_return response;
}

inline Task<Response> read(NoteStore& store, Request& request) {
  const std::optional<std::int64_t> id = id_of(request);
  if (!id) co_return Response(404);
  const auto found =
      co_await run_blocking([&store, id](std::stop_token stop) { return store.find(*id, stop); });
  const std::optional<Note>& note = found.value();
  if (!note) co_return Response(404);
  co_return Response::json(json_of(*note) + "\n");
}

inline Task<Response> remove(NoteStore& store, Request& request) {
  const std::optional<std::int64_t> id = id_of(request);
  if (!id) co_return Response(404);
  const auto removed =
      co_await run_blocking([&store, id](std::stop_token stop) { return store.remove(*id, stop); });
  co_return removed.value() ? Response::no_content() : Response(404);
}

// `store` must outlive the server.
inline void add_routes(Server& server, NoteStore& store) {
  server.get("/notes", [&store](Request& request) { return list(store, request); });
  server.post("/notes", [&store](Request& request) { return create(store, request); });
  server.get("/notes/{id}", [&store](Request& request) { return read(store, request); });
  server.del("/notes/{id}", [&store](Request& request) { return remove(store, request); });
  server.set_error_handler([](const Request&, const Failure& failure) {
    return Response::problem({.status = failure.status});
  });
}

}  // namespace notes
