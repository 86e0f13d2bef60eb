#!/usr/bin/python3
"""Runs each check on good and bad trees: a check that cannot fail checks nothing."""

import pathlib
import tempfile
import unittest

import batches
import coroutines
import includes
import lengths
import rooms
import visibility
import words


def problems_of(check, files):
    """Returns what `check` finds in a tree of `files`, {path: text}."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder).resolve()
        for name, text in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return check(root)


# A minimal project without problems.
TREE = {
    "include/h2server/server.h": '#include <string>\n#include "h2server/task.h"\n',
    "include/h2server/task.h": "#include <coroutine>\n",
    "include/h2server/result.h": "#include <expected>\n",
    "src/base/fd.h": "#include <unistd.h>\n",
    "src/base/clock.h": "#include <cstdint>\n",
    "src/coro/event.h": '#include "h2server/task.h"\n',
    "src/io/engine.h": '#include "base/fd.h"\n',
    "src/net/tls/tls_stream.h": "",
    "src/net/stream.h": '#include "io/engine.h"\n',
    "src/net/tls/tls_stream.cc": '#include <openssl/ssl.h>\n#include "net/stream.h"\n',
    "src/http/router.h": "",
    "src/http/h1/connection.cc": '#include "io/engine.h"\n#include "net/stream.h"\n',
    "src/http/h2/connection_send.cc": '#include "net/stream.h"\n',
    "src/http/h2/nghttp2_session.cc": "#include <nghttp2/nghttp2.h>\n",
    "src/content/files/files.h": '#include "http/router.h"\n',
    "src/content/uploads/stored/a.h": '#include "content/uploads/area/b.h"\n',
    "src/content/uploads/area/b.h": "",
    "src/file/cache.h": '#include <sys/stat.h>\n#include "io/engine.h"\n',
    "src/http/file_head.h": '#include "file/cache.h"\n',
    "src/server/worker.h": '#include "file/cache.h"\n#include "coro/event.h"\n',
    "src/observe/line.h": '#include "h2server/result.h"\n#include "base/fd.h"\n',
    "src/server/log.cc": '#include "observe/line.h"\n',
    "src/config/reader.h": '#include "server/worker.h"\n#include "http/router.h"\n',
    "src/config/toml_text.cc": '#include <toml++/toml.h>\n#include "config/reader.h"\n',
    "src/app/options/options.h": '#include "server/worker.h"\n#include "config/reader.h"\n',
    "src/app/main.cc": '#include "app/options/options.h"\n#include <CLI/CLI.hpp>\n',
    "examples/hello.cc": "#include <h2server/server.h>\n#include <print>\n",
    "tests/http/bytes.h": "#include <gtest/gtest.h>\n#include <openssl/ssl.h>\n",
    "tests/http/router_test.cc": '#include "http/bytes.h"\n#include "http/router.h"\n',
    "tests/config/reader_test.cc": '#include "config/reader.h"\n',
    "tests/app/options_test.cc": '#include "app/options/options.h"\n',
    "lab/plot.h": "",
}

WRONG_INCLUDES = [
    ("src/base/bad.h", '#include "coro/event.h"', "points the wrong way"),
    ("src/http/bad.h", '#include "content/files/files.h"', "points the wrong way"),
    ("src/io/bad.cc", '#include "net/stream.h"', "points the wrong way"),
    ("src/io/bad.cc", '  #  include "../net/stream.h"', "points the wrong way"),
    ("src/io/bad.cc", "#include <net/stream.h>", "points the wrong way"),
    ("src/server/bad.cc", '#include "app/options/options.h"', "nothing includes app/"),
    ("src/config/bad.cc", '#include "app/options/options.h"', "nothing includes app/"),
    ("src/server/bad.cc", '#include "config/reader.h"', "only app and the tests include config/"),
    ("fuzz/bad.cc", '#include "config/reader.h"', "only app and the tests include config/"),
    ("src/content/bad.cc", '#include "observe/line.h"', "beside each other"),
    ("src/http/bad.cc", '#include "observe/line.h"', "points the wrong way"),
    ("src/observe/bad.cc", '#include "http/router.h"', "base and public headers of values only"),
    ("src/observe/bad.cc", '#include "h2server/task.h"', "base and public headers of values only"),
    ("src/app/bad.cc", "#include <curl/curl.h>", "libcurl stays in src/app/client/curl_fields.h"),
    ("src/app/bad.cc", "#include <nlohmann/json.hpp>", "stays in src/app/client/json_members.h"),
    ("src/app/bad.cc", "#include <toml++/toml.h>", "toml++ stays in src/config/*.cc"),
    ("src/config/bad.h", "#include <toml++/toml.h>", "toml++ stays in src/config/*.cc"),
    ("lab/bad.cc", '#include "app/options/options.h"', "nothing includes app/"),
    ("fuzz/bad.cc", '#include "app/options/options.h"', "nothing includes app/"),
    ("src/server/bad.cc", '#include "../../tests/http/bytes.h"', "nothing includes tests/"),
    ("src/server/bad.cc", '#include "../../lab/plot.h"', "nothing includes lab/"),
    ("src/misc/bad.cc", '#include "base/fd.h"', "is no layer"),
    ("src/server/bad.cc", '#include "content/files/files.h"', "beside each other"),
    ("src/net/bad.cc", '#include "file/cache.h"', "points the wrong way"),
    ("src/file/bad.cc", '#include "net/stream.h"', "beside each other"),
    ("src/http/bad.cc", '#include "base/clock.h"', "reads no clock"),
    ("src/http/bad.cc", "#include <fcntl.h>", "system header"),
    ("src/http/h1/connection.cc", "#include <sys/socket.h>", "system header"),
    ("src/coro/bad.h", "#include <unistd.h>", "system header"),
    ("src/http/h1/parser.cc", '#include "net/stream.h"', "only connections"),
    ("src/http/h2/session.cc", '#include "io/engine.h"', "only connections"),
    ("include/h2server/bad.h", '#include "base/fd.h"', "public headers and the C++ library only"),
    ("include/h2server/bad.h", "#include <nghttp2/nghttp2.h>", "the C++ library only"),
    ("include/h2server/bad.h", "#include <unistd.h>", "the C++ library only"),
    ("examples/bad.cc", '#include "base/fd.h"', "public headers and the C++ library only"),
    ("examples/bad.cc", '#include "../src/base/fd.h"', "the C++ library only"),
    ("examples/bad.cc", "#include <openssl/ssl.h>", "the C++ library only"),
    ("src/net/socket.cc", "#include <openssl/ssl.h>", "OpenSSL stays in src/net/(tls|certs|crypto)/tls_* and fuzz/tls_*"),
    ("src/net/bad.cc", '#include "net/tls/tls_stream.h"', "net/ → net/tls points the wrong way"),
    ("src/content/uploads/area/bad.cc", '#include "content/uploads/stored/a.h"',
     "content/uploads/area → content/uploads/stored points the wrong way"),
    ("src/net/else/bad.cc", "#include <string>", "src/net/else is not among the rooms"),
    ("src/http/h2/session.h", "#include <nghttp2/nghttp2.h>", "so in no header"),
    ("src/http/h2/more.cc", "#include <nghttp2/nghttp2.h>", "belongs in one .cc"),
    ("src/io/uring_engine.h", "#include <liburing.h>", "so in no header"),
    ("src/io/engine.cc", "#include <liburing.h>", "liburing stays in src/io/uring_*"),
    ("src/content/codecs.h", "#include <zlib.h>", "so in no header"),
    ("src/content/coding/coding.cc", "#include <zstd.h>", "brotli and zstd stay in"),
    ("src/content/coding/coding.cc", "#include <brotli/encode.h>", "brotli and zstd stay in"),
    ("src/http/bad.cc", "#include <zlib.h>", "zlib stays in src/content"),
    ("src/io/bad.cc", '#include "io/gone.h"', "no such file"),
]


HIDDEN = "namespace h2server::app {\nnamespace {\n%s\n}  // namespace\n}\n"


class Batches(unittest.TestCase):
    def problems(self, **files):
        return list(batches.problems_in({
            pathlib.Path(name.replace("_", ".")): text for name, text in files.items()}))

    def test_refuses_a_name_of_two_files(self):
        one = HIDDEN % "std::string name_of(int x) {\n  return call(x);\n}"
        two = HIDDEN % "const Name* name_of(const Thing& x) {\n  return call(x);\n}"
        (problem,) = self.problems(a_cc=one, b_cc=two)
        self.assertEqual(problem, "name_of(): a.cc, b.cc")
        header = "namespace h2server::app {\n\nstd::string name_of(int x);\n}\n"
        (problem,) = self.problems(a_h=header, b_cc=two)
        self.assertEqual(problem, "name_of(): a.h, b.cc")

    def test_accepts_what_does_not_meet(self):
        one = HIDDEN % "std::string name_of(int x) {\n  return call(x);\n}\nbool name_of(bool x) {\n}"
        other = one.replace("h2server::app", "h2server::net")
        public = "namespace h2server::app {\nint call(int x) {\n}\n}\n"
        self.assertEqual(self.problems(a_cc=one, b_cc=other, c_cc=public), [])


class Includes(unittest.TestCase):
    def test_accepts_right_arrows(self):
        self.assertEqual(problems_of(includes.check, TREE), [])

    def test_refuses_wrong_arrows(self):
        for file, line, reason in WRONG_INCLUDES:
            with self.subTest(file=file, line=line):
                problems = problems_of(includes.check, {**TREE, file: f"int x;\n{line}\n"})
                self.assertIn(reason, "\n".join(problems))

    def test_reads_no_comments(self):
        comment = '// #include "net/stream.h"\n/*\n#include "net/stream.h"\n*/\n'
        self.assertEqual(problems_of(includes.check, {**TREE, "src/io/good.h": comment}), [])

    def test_refuses_an_empty_tree(self):
        self.assertTrue(problems_of(includes.check, {}))


def body(lines):
    """Returns a braced block of `lines` lines, braces included."""
    return "{\n" + "  call(1'000, '{', \"}\");  // }\n" * (lines - 2) + "}\n"


FUNCTION_HEADS = [
    "int f() ",
    "static Task<void> Class::f(const X& x, int y = 3) const noexcept ",
    "auto f() -> std::vector<int> ",
    "template <class T, class U = X<T>>\nT f(T t) ",
    "struct Reply make_reply() ",
    "bool operator==(const X& other) const ",
    "const auto f = [](int x) ",
    "void f(Options o = {1, 2}) ",
    "namespace a::b {\nint f() ",
    "class X final : public Base<int(int)> {\n public:\n  int f() ",
    'extern "C" {\nint f() ',
    "X::X(int a) : a_{a}, b_(a) ",
    "X::X() : a_{1}, b_{2} ",
    "constexpr int table[] = {1, 2};\nint f() ",
]

NO_FUNCTIONS = [
    "constexpr std::array<int, 200> table = ",
    "constexpr std::array<Entry, 61> table{",
    "class X : public Base<int(int)> ",
    "template <class T>\nstruct alignas(64) X ",
    "enum class X : int ",
    "namespace a::b ",
    'extern "C" ',
]


class Lengths(unittest.TestCase):
    def test_measures_functions(self):
        for head in FUNCTION_HEADS:
            own = head.splitlines()[-1] if "template" not in head else head
            for lines in (70, 71):
                with self.subTest(head=head, lines=lines):
                    text = head + body(lines - own.count("\n")) + "}\n" * head.count(" {\n")
                    problems = problems_of(lengths.check, {"src/a.cc": text})
                    self.assertEqual(len(problems), 0 if lines == 70 else 1, problems)

    def test_names_function_and_line(self):
        problems = problems_of(lengths.check, {"src/a.cc": "int x;\n\nint X::f() " + body(90)})
        self.assertEqual(problems, ["src/a.cc:3: X::f() has 90 lines, 70 at most"])

    def test_sees_the_second_function(self):
        text = "X::X() : a_{1} {}\nint f() { return 1; }\nvoid g() " + body(71)
        self.assertIn("src/a.cc:3: g()", "".join(problems_of(lengths.check, {"src/a.cc": text})))

    def test_accepts_long_data_and_classes(self):
        for head in NO_FUNCTIONS:
            with self.subTest(head=head):
                closed = "}" * head.count("{")
                text = head + "{\n" + "int f();\n" * 100 + "}" + closed + ";\n"
                self.assertEqual(problems_of(lengths.check, {"src/a.cc": text}), [])

    def test_ignores_braces_in_literals(self):
        text = 'auto a = R"x({{{{)x";\n// {{{\n/* {{ */\nint f() { return \'{\'; }\n' + "int i;\n" * 90
        self.assertEqual(problems_of(lengths.check, {"src/a.cc": text}), [])

    def test_measures_files(self):
        for name, most in (("src/a.cc", 600), ("src/a.h", 200), ("include/h2server/a.h", 200)):
            with self.subTest(name=name):
                self.assertEqual(problems_of(lengths.check, {name: "\n" * most}), [])
                self.assertTrue(problems_of(lengths.check, {name: "\n" * (most + 1)}))

    def test_refuses_an_empty_tree(self):
        self.assertTrue(problems_of(lengths.check, {}))


WRONG_EXPRESSIONS = [
    ("src/a.cc", "switch (x) {\n  default: break;\n}", "default: break;"),
    ("src/a.cc", "default:\n    break;", "default: break;"),
    ("src/a.h", "using namespace std;", "using namespace"),
    ("include/h2server/a.h", "using namespace std::literals;", "using namespace"),
    ("src/a.cc", "auto* x = new X();", "new"),
    ("src/a.cc", "auto* x = ::new (memory) X();", "new"),
    ("src/a.cc", "std::unique_ptr<X>(new X)", "new"),
    ("src/a.cc", "delete x;", "delete"),
    ("src/a.cc", "delete[] x;", "delete"),
    ("examples/a.cc", "delete x;", "delete"),
]

RIGHT_EXPRESSIONS = [
    ("src/a.cc", "using namespace std;"),
    ("src/a.h", "X(const X&) = delete;\nX& operator=(X&&) =\n    delete;"),
    ("src/a.cc", "#include <new>\nvoid* operator new(std::size_t size);"),
    ("src/a.cc", "::operator delete(memory);"),
    ("src/a.cc", '// a new X, default: break;\nauto s = "delete x;";'),
    ("src/a.cc", "default:\n  fail();\n  break;"),
    ("src/a.cc", "int renewed = new_value;"),
]


def check_words(root):
    return words.check(root, allowed_new={})


class Words(unittest.TestCase):
    def test_refuses_each_word_in_any_file(self):
        for word in words.BANNED:
            for file in ("src/a.cc", "docs/page.md", "scripts/setup"):
                with self.subTest(word=word, file=file):
                    problems = problems_of(check_words, {file: f"first\nsee {word}: later\n"})
                    self.assertEqual(len(problems), 1)
                    self.assertTrue(problems[0].startswith(f"{file}:2: {word}: "), problems)

    def test_accepts_words_within_words(self):
        text = "mktemp /tmp/x.XXXXXX; a framework/ of mine; https://host/works/\n"
        self.assertEqual(problems_of(check_words, {"scripts/a": text}), [])

    def test_refuses_expressions(self):
        for file, text, reason in WRONG_EXPRESSIONS:
            with self.subTest(text=text):
                problems = problems_of(check_words, {file: text + "\n"})
                self.assertEqual(len(problems), 1, problems)
                self.assertIn(reason, problems[0])

    def test_accepts_what_only_looks_like_one(self):
        for file, text in RIGHT_EXPRESSIONS:
            with self.subTest(text=text):
                self.assertEqual(problems_of(check_words, {file: text + "\n"}), [])

    def test_knows_exceptions_and_stale_ones(self):
        def check(root):
            return words.check(root, allowed_new={"src/a.cc": "a reason"})

        self.assertEqual(problems_of(check, {"src/a.cc": "delete x;\n"}), [])
        self.assertIn("ALLOWED_NEW", "".join(problems_of(check, {"src/a.cc": "int x;\n"})))


WRONG_CONDITIONS = [
    "if (co_await f()) return;",
    "if (!co_await f()) return;",
    "if (bool b = co_await f()) return;",
    "while ((co_await f()) == 3) {}",
    "do {} while (co_await f());",
    "for (; co_await f();) {}",
    "switch (co_await f()) {}",
    "bool b = a && co_await f();",
    "bool b = co_await f() || a;",
    '  constexpr std::string_view format = "a {}";',
]

RIGHT_CONDITIONS = [
    "const bool b = co_await f();\nif (b && a) return;",
    "auto&& b = co_await f();",
    "Task<int> f(std::string&& text) { co_return co_await g(std::move(text)); }",
    "if (a && b) {\n  co_await f();\n}",
    "// if (co_await f())",
    'constexpr std::string_view format = "a {}";',
    '  constexpr std::string_view text = "a";',
]


class Coroutines(unittest.TestCase):
    def test_refuses_conditions_that_await(self):
        for text in WRONG_CONDITIONS:
            with self.subTest(text=text):
                self.assertTrue(problems_of(coroutines.check, {"src/a.cc": text + "\n"}))

    def test_accepts_what_only_looks_like_one(self):
        for text in RIGHT_CONDITIONS:
            with self.subTest(text=text):
                self.assertEqual(problems_of(coroutines.check, {"src/a.cc": text + "\n"}), [])


PUSH = "#pragma GCC visibility push(default)\n"
POP = "#pragma GCC visibility pop\n"
RIGHT_VISIBILITY = [
    f"// Text.\n#pragma once\n\n#include <string>\n\n{PUSH}namespace h2server {{\nvoid f();\n}}\n{POP}",
    '#pragma once\n#include "h2server/a.h"\n#include "h2server/b.h"\n',
    "#pragma once\nnamespace h2server::http {\nstruct FileHead;\nclass A;\n}\n"
    f"{PUSH}namespace h2server {{\nnamespace coro {{\nint x;\n}}\n}}\n{POP}",
]
WRONG_VISIBILITY = [
    "#pragma once\nnamespace h2server {\nvoid f();\n}\n",
    f"#pragma once\nnamespace h2server {{\nvoid f();\n}}\n{PUSH}namespace h2server {{\n}}\n{POP}",
    f"#pragma once\n{PUSH}namespace h2server {{\n}}\n{POP}namespace h2server {{\nvoid f();\n}}\n",
    f"#pragma once\n{PUSH}namespace h2server {{\nvoid f();\n}}\n",
    f"#pragma once\n{PUSH}#include <string>\nnamespace h2server {{\n}}\n{POP}",
    "#pragma once\nnamespace h2server::http {\nstruct FileHead {};\n}\n",
]


class Visibility(unittest.TestCase):
    def test_accepts_headers_that_export_all(self):
        for text in RIGHT_VISIBILITY:
            with self.subTest(text=text):
                self.assertEqual(problems_of(visibility.check, {"include/h2server/a.h": text}), [])

    def test_refuses_hidden_declarations(self):
        for text in WRONG_VISIBILITY:
            with self.subTest(text=text):
                self.assertTrue(problems_of(visibility.check, {"include/h2server/a.h": text}))

    def test_refuses_an_empty_tree(self):
        self.assertTrue(problems_of(visibility.check, {}))


README = "# {}\n\nWhat it is.\n\n- In: a.\n- Out: b.\n- Read first: `a.h`.\n"
RIGHT_ROOM = {"src/io/a.h": "", "src/io/README.md": README.format("io"), "src/io/pages/a.html": ""}
WRONG_ROOMS = [
    ({"src/io/README.md": None}, "src/io: has no README.md"),
    ({f"src/io/a{number}.cc": "" for number in range(39)}, "src/io: 41 files (at most 40)"),
    ({"src/io/README.md": README.format("net")}, "its heading is that of net"),
    ({"src/io/README.md": README.format("io").replace("a.h", "b.h")}, "there is no b.h"),
    ({"src/io/README.md": README.format("io").replace("- In", "- On")}, "does not say what"),
    ({"src/io/README.md": README.format("io").replace("What", "a\n" * 4)}, "11 lines (at most 10)"),
]


class Rooms(unittest.TestCase):
    def test_accepts_a_small_one_that_says_what_it_is(self):
        self.assertEqual(problems_of(rooms.check, RIGHT_ROOM), [])

    def test_refuses_others(self):
        for files, reason in WRONG_ROOMS:
            with self.subTest(reason=reason):
                tree = {name: text for name, text in {**RIGHT_ROOM, **files}.items()
                        if text is not None}
                self.assertIn(reason, "\n".join(problems_of(rooms.check, tree)))


if __name__ == "__main__":
    unittest.main()
