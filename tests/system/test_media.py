"""Films and sounds are played from any place without being read as a whole: ffmpeg, Chromium and
Firefox request ranges."""

import json
import pathlib
import re
import shutil
import subprocess
import wave

import pytest

from support.environment import LAST_RESORT_S, PATIENCE, SANITIZER, tool
from support.firefox import Firefox
from support.server import Server
from test_browser import run_browser

SOUND_S = 180
FILM_S = 120
SOUND, FILM = "sound.wav", "film.mp4"

needs_ffmpeg = pytest.mark.skipif(not shutil.which("ffmpeg"), reason="no ffmpeg here")
in_browser = pytest.mark.skipif(bool(SANITIZER), reason="waits for the browser, not the server")


@pytest.fixture(scope="module")
def media(tmp_path_factory):
    """A folder with a sound and, if there is ffmpeg, a film, of about 30 MB each."""
    folder = tmp_path_factory.mktemp("media")
    with wave.open(str(folder / SOUND), "wb") as sound:
        sound.setnchannels(2)
        sound.setsampwidth(2)
        sound.setframerate(48_000)
        sound.writeframes(bytes(4 * 48_000 * SOUND_S))
    if shutil.which("ffmpeg"):
        # Many key frames, so that a player need not read far. The index is at the end.
        ffmpeg("-f", "lavfi", "-i", f"testsrc2=size=640x480:rate=10:duration={FILM_S}", "-c:v",
               "libx264", "-preset", "ultrafast", "-qp", "10", "-g", "10", "-pix_fmt", "yuv420p",
               folder / FILM)
    return folder


def ffmpeg(*arguments, level="error"):
    done = subprocess.run([tool("ffmpeg"), "-nostdin", "-v", level, *map(str, arguments)],
                          check=False, capture_output=True, text=True, timeout=120 * PATIENCE)
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.fixture(scope="module")
def server(media):
    """Its files are beneath the root and among the uploads."""
    with Server(tls=True) as started:
        for file in media.iterdir():
            shutil.copy(file, started.root)
            shutil.copy(file, started.uploads)
        yield started


# --- ffmpeg --------------------------------------------------------------------------------------


@needs_ffmpeg
@pytest.mark.parametrize("tls", [False, True], ids=["cleartext", "tls"])
def test_ffmpeg(tls, media):
    """ffmpeg -ss reads the index at the end and the frames around the time, of 28 MB."""
    size = (media / FILM).stat().st_size
    with Server(tls=tls) as server:
        shutil.copy(media / FILM, server.root)
        trust = ["-tls_verify", "0"] if tls else []
        said = ffmpeg(*trust, "-ss", FILM_S - 5, "-i", server.url + FILM, "-frames:v", "1", "-f",
                      "null", "-", level="trace")
        whole = ffmpeg(*trust, "-i", server.url + FILM, "-c", "copy", "-f", "null", "-",
                       level="debug")
    starts = [int(start) for start in re.findall(r"^Range: bytes=(\d+)-", said, re.MULTILINE)]
    assert starts[0] == 0 and max(starts) > size / 2, starts
    assert bytes_read(said) < size / 3
    assert bytes_read(whole) >= size


def bytes_read(said):
    """Returns the sum of what ffmpeg has read of all its inputs."""
    return sum(map(int, re.findall(r"Statistics: (\d+) bytes read", said)))


@needs_ffmpeg
def test_ffprobe(server, media):
    done = subprocess.run(
        [tool("ffprobe"), "-v", "error", "-tls_verify", "0", "-print_format", "json",
         "-show_format", server.url + "files/" + FILM], check=True, capture_output=True,
        timeout=LAST_RESORT_S)
    found = json.loads(done.stdout)["format"]
    assert float(found["duration"]) == FILM_S
    assert int(found["size"]) == (media / FILM).stat().st_size


# --- browsers ------------------------------------------------------------------------------------


@in_browser
@pytest.mark.parametrize("name, duration_s", [
    (SOUND, SOUND_S), pytest.param(FILM, FILM_S, marks=needs_ffmpeg)])
def test_chromium(name, duration_s, server, media, tmp_path):
    """Opened for itself and in the preview; also an upload, which has fields against scripts."""
    places = [{"name": "file", "url": server.url + name},
              {"name": "preview", "url": server.url, "link": name},
              {"name": "upload", "url": f"{server.url}files/{name}"},
              {"name": "preview of upload", "url": f"{server.url}files", "link": name}]
    seen = run_browser("media.js", json.dumps(places), home=tmp_path)
    size = (media / name).stat().st_size
    for place in places:
        check_played(seen[place["name"]], duration_s)
        responses = seen[place["name"]]["responses"]
        if "link" not in place:
            assert responses.pop(0) == [200, None], "the page itself"
        assert {status for status, _ in responses} == {206}, place
        starts = [int(re.fullmatch(rf"bytes (\d+)-\d+/{size}", part)[1]) for _, part in responses]
        assert max(starts) > size / 2, place


def check_played(seen, duration_s):
    assert abs(seen["duration"] - duration_s) < 0.5
    assert abs(seen["time"] - (duration_s - 1)) < 0.5
    assert seen["ready"] >= 2, "it has no data of that time"


# Returns a promise.
SEEK = f"""{(pathlib.Path(__file__).parent / "clients/seek.js").read_text()}
return seekToTheEnd(document.querySelector('video, audio'));
"""


@in_browser
@needs_ffmpeg
@pytest.mark.skipif(not shutil.which("firefox-esr"), reason="no Firefox here")
def test_firefox(server, tmp_path):
    """It uses the codecs of ffmpeg's libraries."""
    with Firefox(tmp_path) as firefox:
        for path in (FILM, f"files/{FILM}"):
            firefox.open(server.url + path)
            check_played(firefox.run(SEEK), FILM_S)
        for path in ("", "files"):
            firefox.open(server.url + path)
            firefox.run("[...document.links].find(link => link.innerText === arguments[0]).click()",
                        FILM)
            check_played(firefox.run(SEEK), FILM_S)
