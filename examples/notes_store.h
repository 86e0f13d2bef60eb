// NoteStore: the notes of the example, in an SQLite database.
//
// The functions block, so a server calls them by run_blocking(). Any thread; one call at a time
// uses the database. A call is interrupted, and throws, once its token has stopped.
#pragma once

#include <h2server/failure.h>
#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <vector>

#include "sqlite_statement.h"

struct Note {
  std::int64_t id = 0;
  std::string text;
};

class NoteStore {
 public:
  // `path` is that of a file, or ":memory:".
  explicit NoteStore(const std::string& path) {
    sqlite3* database = nullptr;
    const int status = sqlite3_open(path.c_str(), &database);
    database_.reset(database);  // also after an error
    if (status != SQLITE_OK) throw std::runtime_error(path + ": " + sqlite3_errstr(status));
    sqlite::Statement(*database_,
                      "CREATE TABLE IF NOT EXISTS notes (id INTEGER PRIMARY KEY, text NOT NULL)")
        .step();
  }

  // Returns the newest notes, `count_max` at most.
  std::vector<Note> list(int count_max, std::stop_token stop) {
    const Use use(*this, stop);
    sqlite::Statement query(*database_, "SELECT id, text FROM notes ORDER BY id DESC LIMIT ?");
    query.bind(1, count_max);
    std::vector<Note> notes;
    while (query.step()) notes.push_back({query.number(0), query.text(1)});
    return notes;
  }
  std::optional<Note> find(std::int64_t id, std::stop_token stop) {
    const Use use(*this, stop);
    sqlite::Statement query(*database_, "SELECT id, text FROM notes WHERE id = ?");
    query.bind(1, id);
    if (!query.step()) return std::nullopt;
    return Note{query.number(0), query.text(1)};
  }
  // Adds the member "text" of a JSON object. Returns nullopt unless that is a string of 1 to 1000
  // characters.
  std::optional<Note> add(const std::string& json, std::stop_token stop) {
    const Use use(*this, stop);
    sqlite::Statement insert(
        *database_, "WITH given AS (SELECT CASE WHEN json_valid(?1) THEN ?1 END AS body) "
                    "INSERT INTO notes (text) SELECT json_extract(body, '$.text') FROM given "
                    "WHERE json_type(body, '$.text') = 'text' "
                    "AND length(json_extract(body, '$.text')) BETWEEN 1 AND 1000 "
                    "RETURNING id, text");
    insert.bind(1, json);
    if (!insert.step()) return std::nullopt;
    Note added{insert.number(0), insert.text(1)};
    insert.step();
    return added;
  }
  // Returns false if there is no such note.
  bool remove(std::int64_t id, std::stop_token stop) {
    const Use use(*this, stop);
    sqlite::Statement statement(*database_, "DELETE FROM notes WHERE id = ?");
    statement.bind(1, id);
    statement.step();
    return sqlite3_changes(database_.get()) > 0;
  }

 private:
  // One call: it has the database to itself, and is interrupted if it is no longer wanted.
  struct Use {
    Use(NoteStore& store, const std::stop_token& stop)
        : lock(store.mutex_), interrupt(stop, Interrupt{store.database_.get()}) {
      if (stop.stop_requested()) throw h2server::HttpError(503, "no longer wanted");
    }
    struct Interrupt {
      sqlite3* database;
      void operator()() const noexcept { sqlite3_interrupt(database); }
    };
    std::lock_guard<std::mutex> lock;
    std::stop_callback<Interrupt> interrupt;
  };
  struct Close {
    void operator()(sqlite3* database) const noexcept { sqlite3_close(database); }
  };
  std::unique_ptr<sqlite3, Close> database_;
  std::mutex mutex_;
};
