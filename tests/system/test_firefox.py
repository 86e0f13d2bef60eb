"""Firefox uses the list of a directory, over both protocols. test_media.py plays films in it."""

import shutil

import pytest

from support.environment import SANITIZER
from support.firefox import Firefox
from support.server import Server
from test_listing import FILES, fill

pytestmark = [
    pytest.mark.skipif(bool(SANITIZER), reason="waits for the browser, not the server"),
    pytest.mark.skipif(not shutil.which("firefox-esr"), reason="no Firefox here"),
]

# Returns the page as a person sees it, before and after a filter, and a preview.
USE = """
const names = () => [...document.querySelectorAll('tbody tr:not([hidden]) a:not(.u)')]
  .map(link => link.innerText);
const seen = {
  protocol: performance.getEntriesByType('navigation')[0].nextHopProtocol,
  styles: document.styleSheets.length, all: names() };
const search = document.querySelector('input[type=search]');
search.value = 'TXT';
search.dispatchEvent(new Event('input'));
seen.filtered = names();
[...document.links].find(link => link.innerText === 'note.txt').click();
return new Promise(resolve => {
  const look = () => {
    seen.text = document.querySelector('dialog[open] pre')?.innerText;
    if (/hello/.test(seen.text)) resolve(seen);
    else requestAnimationFrame(look);
  };
  look();
});
"""


def test_listing(tmp_path):
    with Firefox(tmp_path) as firefox:
        for tls in (False, True):
            with Server(tls=tls) as server:
                fill(server.root)
                firefox.open(server.url)
                seen = firefox.run(USE)
                firefox.open("about:blank")
            assert seen["protocol"] == ("h2" if tls else "http/1.1")
            assert seen["styles"] == 1, "its style was refused"
            assert set(seen["all"]) == {*FILES, "sub dir/"}
            assert seen["filtered"] == [name for name in seen["all"] if name.endswith(".txt")]
            assert seen["text"] == "hello <b>there</b>"
