"""No spelling of a path and no symbolic link reaches a file outside the root."""

import os

import pytest

ESCAPES = [
    "/../secret.txt", "/x/../../secret.txt", "/%2e%2e/secret.txt", "/.%2E/secret.txt",
    "/%2e%2e%2fsecret.txt", "/..%2fsecret.txt", "/x%2f..%2f..%2fsecret.txt", "/..%5csecret.txt",
    "/%00", "/index.html%00.txt", "/%252e%252e/secret.txt", "//../secret.txt", "/./../secret.txt",
    "//etc/passwd", "/%2fetc/passwd", "/files/../../secret.txt", "/files/%2e%2e/secret.txt",
    "/files/..%2fsecret.txt", "/files/..", "/files/%2e%2e", "/files/.",
]


@pytest.mark.parametrize("path", ESCAPES)
def test_no_path_leads_out_of_the_root(site, path):
    (site.server.root.parent / "secret.txt").write_bytes(b"secret")
    answer = site.fetch(path)
    assert answer.status in (400, 404)
    assert b"secret" not in answer.body and b"root:" not in answer.body


LINKS = {
    "relative, out": ("../../secret.txt", 404),
    "absolute, out": ("{root}/../secret.txt", 404),
    "to the system": ("/etc/passwd", 404),
    "to a process": ("/proc/self/environ", 404),
    "to itself": ("link", 404),
    "dangling": ("nowhere", 404),
    "inside": ("target.txt", 200),
    "inside, by way of the parent": ("../{name}/target.txt", 200),
}


@pytest.mark.parametrize("target, status", LINKS.values(), ids=LINKS)
def test_symbolic_links(site, target, status):
    (site.server.root.parent / "secret.txt").write_bytes(b"secret")
    site.place("target.txt", b"inside")
    os.symlink(target.format(root=site.server.root, name=site.name), site.folder / "link")
    answer = site.fetch(f"/{site.name}/link")
    assert answer.status == status
    assert (answer.body == b"inside") == (status == 200)
    assert b"secret" not in answer.body


def test_symbolic_link_to_a_folder_outside(site):
    (site.server.root.parent / "secret.txt").write_bytes(b"secret")
    os.symlink("../..", site.folder / "out")
    for path in ("out/secret.txt", "out/", "out/root/", "out"):
        assert site.fetch(f"/{site.name}/{path}").status == 404, path
