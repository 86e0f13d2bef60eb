"""lint.py < JSON > JSON: what redbot and httplint say about responses.

Input: {"urls": [...], "responses": [...]}. redbot requests each URL several times, over HTTP/1.1,
and compares the responses. httplint reads responses that others got:
{"name", "version", "method", "url", "request": [[name, value]], "status", "fields": [[name, value]],
"body": base64}.
Output: {name or URL: [[level, note, summary]]}.
"""

import base64
import configparser
import json
import sys
import time

import thor
from httplint import HttpRequestLinter, HttpResponseLinter
from redbot.resource import HttpResource


def bytes_of(fields):
    return [(name.encode(), value.encode("latin-1")) for name, value in fields]


def told(notes):
    return [[note.level.value, type(note).__name__, str(note.summary)] for note in notes]


def lint(one):
    request = HttpRequestLinter(start_time=time.time())
    request.process_request_topline(one["method"].encode(), one["url"].encode(),
                                    one["version"].encode())
    request.process_headers([(b"host", b"localhost"), *bytes_of(one["request"])])
    request.finish_content(True)
    response = HttpResponseLinter(start_time=time.time())
    response.request = request
    response.is_head_response = one["method"] == "HEAD"
    response.process_response_topline(one["version"].encode(), str(one["status"]).encode())
    response.process_headers(bytes_of(one["fields"]))
    response.feed_content(base64.b64decode(one["body"]))
    response.finish_content(True)
    return told(response.notes)


def visit(urls):
    """Returns what redbot says about each URL, its requests with conditions included."""
    config = configparser.ConfigParser()
    config.read_dict({"redbot": {"enable_local_access": "True"}})
    found = {}
    left = list(urls)

    def check_next():
        if not left:
            thor.stop()
            return
        url = left.pop()
        resource = HttpResource(config["redbot"])
        resource.set_request(url)

        def done():
            assert resource.response.complete, f"{url}: {resource.fetch_error}"
            notes = list(resource.response.notes)
            for further in resource.subreqs.values():
                notes.extend(further.response.notes)  # its class can't be added to a list
            found[url] = told(notes)
            check_next()

        resource.on("check_done", done)
        resource.check()

    check_next()
    thor.run()
    return found


def main():
    given = json.load(sys.stdin)
    found = {one["name"]: lint(one) for one in given["responses"]}
    if given["urls"]:
        found |= visit(given["urls"])
    json.dump(found, sys.stdout)


main()
