"""Completion scripts and the manual page: each names every option of --help, and the shells and roff
accept them. A shell that is not installed is left out."""

import os
import re
import shutil
import subprocess

import pytest

from support.environment import BINARY, LAST_RESORT_S

SHELLS = ["bash", "zsh", "fish"]


def output(*command, text=None, **settings):
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False,
                          timeout=LAST_RESORT_S,
                          env={**os.environ, "LC_ALL": "C.UTF-8"}, **settings)
    assert done.returncode == 0, done
    assert done.stderr == "", done
    return done.stdout


def option_names():
    """Returns the names that --help lists."""
    lines = re.findall(r"^  (-\S+)", output(BINARY, "--help"), re.MULTILINE)
    names = [name for line in lines for name in line.split(",")]
    assert {"-p", "--port", "--h2c", "--config"} <= set(names)
    return names


def installed(program):
    path = shutil.which(program)
    if path is None:
        pytest.skip(f"{program} is not installed")
    return path


@pytest.mark.parametrize("shell", SHELLS)
def test_scripts_name_every_option(shell):
    script = output(BINARY, "completion", shell)
    for name in option_names():
        word = name
        if shell == "fish":
            word = f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"
        assert re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", script), name
    for command in ("doctor", "completion", "man"):
        assert command in script


@pytest.mark.parametrize("shell", SHELLS)
def test_shells_accept_the_scripts(shell, tmp_path):
    script = tmp_path / "script"
    script.write_text(output(BINARY, "completion", shell))
    output(installed(shell), "-n", script)


@pytest.fixture
def complete(tmp_path):
    """complete(words…): what bash offers for the last word, in a folder with `site/` and `file`."""
    (tmp_path / "site").mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "script").write_text(output(BINARY, "completion", "bash"))

    def run(*words):
        return output(installed("bash"), "--norc", "-c",
                      'source ./script; COMP_WORDS=(h2server "$@"); COMP_CWORD=$#; _h2server; '
                      'if (( ${#COMPREPLY[@]} )); then printf "%s\\n" "${COMPREPLY[@]}"; fi',
                      "bash", *words, cwd=tmp_path).split()

    return run


def test_bash_completes_options(complete):
    assert complete("--por") == ["--port"]
    assert set(complete("-")) == set(option_names())
    assert complete("--h2c", "--upload-o") == ["--upload-overwrite"]


def test_bash_completes_values(complete):
    assert complete("--io", "ep") == ["epoll"]
    assert {"reuseport", "acceptor", "help"} <= set(complete("--scheme", ""))
    assert complete("--scheme", "=") == complete("--scheme", "")  # bash splits --scheme=
    assert complete("--scheme", "=", "acc") == ["acceptor"]
    assert complete("--when-full", "") == ["wait", "refuse"]
    assert complete("--root", "") == complete("-r", "") == ["site"]
    assert "file" in complete("--cert", "fi")
    assert complete("--port", "") == []


def test_bash_completes_commands(complete):
    assert complete("") == ["doctor", "check", "config", "top", "put", "link", "upgrade", "trust",
                            "completion", "man", "site"]
    assert complete("doctor", "--por") == ["--port"]
    assert complete("completion", "") == SHELLS
    assert complete("--h2c", "") == ["site"]


def test_fish_completes(tmp_path):
    (tmp_path / "script").write_text(output(BINARY, "completion", "fish"))

    def complete(line):
        shown = output(installed("fish"), "--no-config", "-c",
                       f"source ./script; complete -C '{line}'", cwd=tmp_path)
        return [row.split("\t")[0] for row in shown.splitlines()]

    assert "--port" in complete("h2server --por")
    assert complete("h2server --io ep") == ["epoll"]
    assert complete("h2server completion ") == sorted(SHELLS)
    assert "doctor" in complete("h2server ")


def test_manual_names_every_option():
    page = output(BINARY, "man").replace("\\-", "-")
    for name in option_names():
        assert f"\\fB{name}\\fR" in page, name
    assert "reuseport" in page
    assert "1 - 65536" in page


def test_roff_accepts_the_manual():
    page = output(BINARY, "man")
    shown = output(installed("groff"), "-man", "-Tutf8", "-ww", "-b", text=page)
    assert "Port to listen on" in " ".join(shown.split())  # it fills lines with spaces
    for line in page.splitlines():
        assert len(line) < 1000


def test_refuses_wrong_use():
    for arguments in [("completion",), ("completion", "csh"), ("completion", "bash", "zsh"),
                      ("man", "more")]:
        done = subprocess.run([BINARY, *arguments], capture_output=True, text=True, check=False,
                              timeout=LAST_RESORT_S)
        assert done.returncode == 2, arguments
        assert done.stdout == ""
        assert done.stderr.startswith("h2server: error: ")
