"""Numbers of the works on which the project is based, "the seeds", to be shown beside ours.

They were measured on other machines, with other programs and versions: only the relations between
rows of one table can be compared. Factors and measures have our names and units (results.py): QPS
is rps, 100 % of CPU is server_cpu 1.0, memory is rss_kib. `cpu_us` is computed here from a seed's
CPU usage and QPS. Results without a number in a table, from a plot or the text, are in STATEMENTS.

Factors: server (the article's own program if a row has none), protocol ("h2" over TLS, "h2c"), load
("-c100 -m10", "-c1000 -m100"), threads, scheme ("acceptor", "reuseport"), stage ("prototype",
"mmap", "router", "balancer"), concurrency, target ("404", "1 KB"), rate.
"""

import dataclasses

from . import cells


@dataclasses.dataclass(frozen=True)
class Source:
    short: str  # in the head of a column
    title: str
    author: str
    where: str
    machine: str  # on which it was measured, as far as stated


@dataclasses.dataclass(frozen=True)
class Row:
    factors: dict
    measures: dict
    flag: str = ""  # why the row must be wrong


@dataclasses.dataclass(frozen=True)
class SeedTable:
    source: Source
    rows: list
    note: str = ""


@dataclasses.dataclass(frozen=True)
class Statement:
    """A seed's own result in our words. `measures` has its numbers, if there are any."""

    source: Source
    text: str
    measures: dict = dataclasses.field(default_factory=dict)


ARTICLE = Source(
    "h2-server, 2025", "H2 Server (chapter 4, Benchmark)", "the author of h2-server, not named in the text",
    "article about the h2-server repository, 2025",
    "Linux, g++ 11.4.0, nghttp2 1.60.0, OpenSSL 3.0.2; processor not named")
PAPER = Source(
    "Lim et al.", "A Performance Comparison of Web-Server Implementation Schemes",
    "Lim Dong-gwan, Seon Ju-ho, Kim Jong-wook, Kim Yong-Seok", "Kangwon National University",
    "client Intel P4 2.4 GHz, server Via 1.0 GHz, 512 MB each, Linux 2.6.9 and 2.6.11, "
    "a crossed cable between them")
ZY_HTTP = Source(
    "zy-http", "zy-http: static HTTP server on io_uring and C++ coroutines", "BJackWang",
    "README of BJackWang/zy-http on GitHub",
    "AMD 6800H, 8 cores and 16 threads, 16 GB, WSL Ubuntu 22.04, Linux 6.4.8; client hey on the "
    "same machine, whose processors it says were all busy from concurrency 8 on")
SIZES = Source(
    "matsumoto-r",
    "How performance changes with content size in implementations of HTTP/2, SPDY and HTTP/1.1",
    "matsumoto-r", "blog.matsumoto-r.jp (in Japanese)",
    "client and servers in one virtual machine; 100 connections, 100 000 requests, "
    "100 streams a connection for SPDY and HTTP/2, keep-alive for HTTP/1.1")

_SMALL, _LARGE = "-c100 -m10", "-c1000 -m100"


def _article(text, names, factors, flags=None):
    """Returns the rows of `text`. `names` are its columns: factors, then measures."""
    rows = []
    for line in text.strip().splitlines():
        fields = dict(zip(names, line.split(), strict=True))
        own = {name: fields.pop(name) for name in ("server", "stage", "protocol")
               if name in fields}
        if "threads" in fields:
            own["threads"] = int(fields.pop("threads"))
        values = {name: float(value) for name, value in fields.items()}
        measures = {name: value for name, value in values.items() if name.endswith("_ms")}
        measures["rps"] = values["qps"]
        measures["server_cpu"] = round(values["cpu"] / 100, 6)
        measures["cpu_us"] = values["cpu"] / 100 / values["qps"] * 1e6
        measures["rss_kib"] = values["mib"] * 1024
        flag = (flags or {}).get((own.get("stage"), own.get("protocol")), "")
        rows.append(Row({**factors, **own}, measures, flag))
    return rows


# --- 4.1: stages of growth ------------------------------------------------------------------------

_STAGE = ["stage", "protocol", "qps", "p99_ms", "p90_ms", "p50_ms", "cpu", "mib"]
_STAGES_SMALL = """
prototype h2c 122060.232 10.674 8.9248 8.0674 98.412 7.451171875
mmap h2c 224543.5 3.7808 2.9148 2.4816 89.632 20.30703125
mmap h2 190543.634 6.327 4.626 3.074 92.728 15.84726563
router h2 175203.934 7.3868 5.8176 4.7424 98.974 15.94824219
router h2c 199643.8 0.006327 0.004626 0.003074 92.728 0.015475845
balancer h2 173702.098 7.306 5.9562 5.0248 99.208 18.12
balancer h2c 192895.766 6.7044 5.5092 4.5218 99.078 9.565039063
"""
_STAGES_LARGE = """
prototype h2c 108745.666 968.666 891.9512 740.1804 85.978 76.84316406
mmap h2c 361051.334 290.2608 276.253 270.2988 99.236 84.17207031
mmap h2 340922.308 324.6172 290.5728 277.5948 99.892 125.9441406
router h2 218128.414 505.9948 473.1074 458.968 99.81 140.4175781
router h2c 226110.666 486.169 453.9088 448.7806 99.536 98.51445313
balancer h2 205574.332 547.7828 508.3812 486.7182 99.942 141.19
balancer h2c 221886.068 514.821 474.6454 445.1006 99.938 96.4296875
"""
_COPIED_ROW = {
    ("router", "h2c"):
        "only its QPS can be its own: latencies, CPU and memory repeat the row mmap · h2, "
        "latencies in s instead of ms and memory in GB instead of MB"}

# --- 4.1.1: reuseport against acceptor and workers ------------------------------------------------

_SCALE = ["threads", "qps", "p99_ms", "cpu", "mib"]
_SCHEMES = {
    ("reuseport", "h2", _SMALL): """
1 170082.768 7.8838 98.852 16.43515625
2 191969.9 4.9168 138.792 15.86367188
4 185166.968 4.157 146.418 15.86210938
8 179178.1275 3.8758 162.196 15.91289063
""",
    ("acceptor", "h2", _SMALL): """
1 186105.4 9.0076 98.956 15.99785156
2 195737.5 5.7036 143.214 15.89492188
4 179277.368 3.4026 149.856 15.87246094
8 183349.368 3.3312 169.3 15.98984375
""",
    ("reuseport", "h2", _LARGE): """
1 220103.334 495.8666 99.726 141.2958984
2 399747.666 298.155 187.066 136
4 421299.026 160.2804 204.244 126.6503906
8 417792.915 157.9678 209.762 126.0441406
""",
    ("acceptor", "h2", _LARGE): """
1 217159.334 510.0868 99.846 140.0394531
2 389953.44 295.7502 186.524 139.2839844
4 426597.082 153.9212 208.794 128.4552734
8 423505.2 148.8116 210.396 128.0207031
""",
    ("reuseport", "h2c", _SMALL): """
1 196712.666 6.9948 98.758 9.514257813
2 220055.094 4.6052 146.156 9.423828125
4 214679.334 3.329 151.404 9.4296875
8 207702.494 3.5508 164.488 9.51796875
""",
    ("acceptor", "h2c", _SMALL): """
1 199005.834 6.3428 99.07 9.519335938
2 219053.934 4.0376 140.308 9.49453125
4 210013.102 3.3358 143.344 9.295898438
8 209466.56 3.5956 166.562 9.462109375
""",
    ("reuseport", "h2c", _LARGE): """
1 224862.99 384.2416 99.626 76.52480469
2 404943.208 307.5908 192.06 94.28222656
4 438058.332 160.4104 217.454 89.04765625
8 435534 156.368 218.666 81.909375
""",
    ("acceptor", "h2c", _LARGE): """
1 225519.504 501.1668 99.724 97.57636719
2 406958.212 281.1706 187.632 94.61152344
4 451179 153.3158 214.998 89.13046875
8 445782.332 146.397 219.958 80.2796875
""",
}

# --- 4.2.1: against nghttpd and libevent-server, one thread ---------------------------------------

_PEER = ["server", "qps", "p99_ms", "p90_ms", "p50_ms", "cpu", "mib"]
_PEERS = {
    ("h2", _SMALL): """
h2server 173702.09 7.30 5.9562 5.02 99.20 18.12
libevent-server 154655.1 10.07 7.18 5.50 98.02 15.41
nghttpd 181680 6.08 4.15 2.79 90.942 18.23
""",
    ("h2", _LARGE): """
h2server 205574.33 547.78 508.38 486.71 99.94 141.19
libevent-server 204798.99 541.53 507.15 479.89 99.91 95.45
nghttpd 321848.43 235.78 166.42 157.61 85.59 112.38
""",
    ("h2c", _SMALL): """
h2server 192895.76 6.70 5.50 4.52 99.07 9.56
nghttpd 205405.52 5.65 3.94 2.48 91.77 14.84
""",
    ("h2c", _LARGE): """
h2server 221886.06 514.82 474.64 445.10 99.93 96.42
nghttpd 375828.33 254.24 213.16 134.79 91.04 75.29
""",
}

# --- 4.2.2: the same over threads -----------------------------------------------------------------

_SCALING = {
    ("h2server", "h2", _SMALL): """
1 173702.098 7.306 99.208 18.12363281
2 187681.734 4.2538 139.288 18.12070313
4 178973.032 4.4518 155.91 18.06914063
8 172458.585 4.4838 166.854 18.3203125
""",
    ("nghttpd", "h2", _SMALL): """
1 181680 6.083 90.942 18.22597656
2 179038.566 4.3452 108.585 18.2668457
4 174970.764 4.2538 119.614 18.61054688
8 171352.502 4.23 130.3475 19.821875
""",
    ("h2server", "h2", _LARGE): """
1 205574.332 547.7828 99.942 141.1904297
2 393091.732 305.2898 194.396 136.2841797
4 403797.186 157.3542 203.208 141.8414063
8 404569.212 152.979 214.93 143.1271484
""",
    ("nghttpd", "h2", _LARGE): """
1 321848.43 235.788 85.59 112.3808594
2 358788.664 188.0264 105.616 116.7830078
4 367662.9 177.935 113.07 115.0414063
8 348835.566 182.8562 122.024 112.4423828
""",
    ("h2server", "h2c", _SMALL): """
1 192895.766 6.7044 99.078 9.565039063
2 216457.4 4.2202 148.056 9.491796875
4 202325.634 3.7672 154.126 9.574414063
8 199447.33 3.4988 168.01 9.599609375
""",
    ("nghttpd", "h2c", _SMALL): """
1 205405.524 5.6562 91.77 14.84101563
2 198241.198 3.7884 104.036 12.01835938
4 195620.47 3.8596 115.082 12.3109375
8 192671.3117 3.5740383 118.5828333 11.59673754
""",
    ("h2server", "h2c", _LARGE): """
1 221886.068 514.821 99.938 96.4296875
2 410807.138 274.1966 193.756 94.84179688
4 428543.664 154.3328 219.22 91.43515625
8 429380 144.1536 225.902 81.98554688
""",
    ("nghttpd", "h2c", _LARGE): """
1 375828.332 254.2466 91.048 75.29472656
2 377719 243.6276 87.612 75.25371094
4 400143.366 241.7932 90.768 75.19921875
8 352529.364 264.8662 85.352 75.21660156
""",
}

# --- zy-http: short connections, by concurrency: QPS, mean, p99 for 404 and for 1 KB --------------

_CONCURRENCY = {
    "zy-http": """
1 4537 0.2 0.5 3438 0.3 0.6
2 10496 0.2 0.4 7400 0.3 0.6
4 20637 0.2 0.4 14167 0.3 0.6
8 34609 0.2 0.6 23192 0.3 1.5
16 63417 0.3 0.9 37278 0.4 2.7
32 82373 0.5 1.9 51379 0.6 4.4
50 89432 0.7 3.2 56685 0.9 5.9
100 89442 1.5 5.8 66366 1.5 7.5
500 88528 7.4 22.5 64485 7.7 28.2
5000 60988 81.1 295.1 48887 99.7 407.1
""",
    "nginx": """
1 4449 0.2 0.4 4428 0.2 0.5
2 10117 0.2 0.4 10139 0.2 0.4
4 20373 0.2 0.4 20652 0.2 0.4
8 33859 0.2 0.6 33351 0.2 0.6
16 58788 0.3 1.1 60254 0.3 1.0
32 72620 0.5 2.5 71711 0.5 2.8
50 76667 0.7 4.0 75039 0.7 4.4
100 78218 1.5 7.9 76870 1.5 8.5
500 72756 7.4 28.2 71557 7.4 30.9
5000 53297 91.1 371.1 52108 93.1 382.1
""",
}
_RATES = """
10000 9973 0.7 2.0
20000 19970 0.7 2.2
30000 29932 0.8 2.4
40000 36051 1.1 10.1
50000 43714 1.2 9.1
"""


def _stages():
    return [row for load, text in ((_SMALL, _STAGES_SMALL), (_LARGE, _STAGES_LARGE))
            for row in _article(text, _STAGE, {"load": load},
                                _COPIED_ROW if load == _SMALL else None)]


def _schemes():
    return [row for (scheme, protocol, load), text in _SCHEMES.items()
            for row in _article(text, _SCALE,
                                {"scheme": scheme, "protocol": protocol, "load": load})]


def _peers():
    return [row for (protocol, load), text in _PEERS.items()
            for row in _article(text, _PEER, {"protocol": protocol, "load": load, "threads": 1})]


def _scaling():
    return [row for (server, protocol, load), text in _SCALING.items()
            for row in _article(text, _SCALE,
                                {"server": server, "protocol": protocol, "load": load})]


def _concurrency():
    rows = []
    for server, text in _CONCURRENCY.items():
        for line in text.strip().splitlines():
            concurrency, *values = line.split()
            for target, three in (("404", values[:3]), ("1 KB", values[3:])):
                rps, mean_ms, p99_ms = map(float, three)
                factors = {"server": server, "target": target, "concurrency": int(concurrency)}
                rows.append(Row(factors, {"rps": rps, "mean_ms": mean_ms, "p99_ms": p99_ms}))
    return rows


def _rates():
    rows = []
    for line in _RATES.strip().splitlines():
        rate, rps, mean_ms, p99_ms = map(float, line.split())
        rows.append(Row({"server": "zy-http", "concurrency": 100, "rate": int(rate)},
                        {"rps": rps, "mean_ms": mean_ms, "p99_ms": p99_ms}))
    return rows


TABLES = {
    "article/stages": SeedTable(
        ARTICLE, _stages(),
        "Its 4.1. Before the mmap cache, -c1000 -m100 ran out of file descriptors until their "
        "limit was raised."),
    "article/schemes": SeedTable(
        ARTICLE, _schemes(), "Its 4.1.1, measured before the balancer was there."),
    "article/peers": SeedTable(
        ARTICLE, _peers(), "Its 4.2.1, one thread. libevent-server has no h2c."),
    "article/scaling": SeedTable(
        ARTICLE, _scaling(), "Its 4.2.2. nghttpd with 8 threads needed more file descriptors."),
    "zy-http/concurrency": SeedTable(
        ZY_HTTP, _concurrency(),
        "A connection for each request, 15 s. nginx 1.24.0 sends a body of 153 to 179 bytes with "
        "its 404, zy-http sends none."),
    "zy-http/rates": SeedTable(
        ZY_HTTP, _rates(),
        "Concurrency 100. It says that its processors were all busy from a set rate of 40 000 on."),
}

STATEMENTS = {
    "paper": [
        Statement(PAPER, "Figure 4: a thread for each connection takes about 10 % less time than a "
                         "process for each.", {"thread/process": 0.9}),
        Statement(PAPER, "Figure 4: both pools take less than half the time of a process for each "
                         "connection (50, 100 and 150 clients, 2 exchanges each).",
                  {"pool/process": 0.5}),
        Statement(PAPER, "Figure 4: the pool whose main thread accepts and hands over through a "
                         "buffer is faster than the one whose workers accept."),
        Statement(PAPER, "Figures 5 and 6: with 20 exchanges a connection, workers beyond about a "
                         "sixth of the simultaneous connections gain nothing (50 and 100 clients).",
                  {"workers/connections": 1 / 6}),
        Statement(PAPER, "With 2 exchanges a connection, the number of workers hardly matters."),
        Statement(PAPER, "Its figures are plots; the text gives no other numbers. Clients "
                         "connected 100 times each (20 in figure 5); messages had 1 204 bytes."),
    ],
    "zy-http": [
        Statement(ZY_HTTP, "1 KB at concurrency 100, for 15 s: 10 % of the answers came within 0.5 ms, "
                           "25 % 0.7, 50 % 1.1, 75 % 1.8, 90 % 2.8, 95 % 4.0 and 99 % 7.5 ms.",
                  {"p50_ms": 1.1, "p90_ms": 2.8, "p99_ms": 7.5}),
    ],
    "content size": [
        Statement(SIZES, "From 21 bytes to 20 kB, HTTP/1.1 (nginx) hardly slows down."),
        Statement(SIZES, "HTTP/2 (nghttpd) and SPDY/3.1 (nginx) get slower as files grow, and fall "
                         "below HTTP/1.1 from about 6 kB on.", {"crossing_bytes": 6000}),
        Statement(SIZES, "It explains this by system calls: nginx answers HTTP/1.1 with one writev "
                         "and one sendfile at any of these sizes, while nghttpd reads pieces of "
                         "4 086 bytes and writes them in pieces.", {"piece_bytes": 4086}),
        Statement(SIZES, "SPDY's nginx reads and writes several times only from 30 kB on, so "
                         "system calls alone do not explain its curve, as the author says.",
                  {"spdy_piece_bytes": 30000}),
        Statement(SIZES, "Its figure is a plot; the text gives no other numbers."),
    ],
}


def row_of(name, factors):
    """Returns the row of table `name` whose factors all equal those in `factors`, or None.

    A row without a server is of the seed's own program, which is compared with ours, not with a
    peer.
    """
    for row in TABLES[name].rows:
        wanted = {"server": cells.OURS, **row.factors} if "server" in factors else row.factors
        if all(key in factors and factors[key] == value for key, value in wanted.items()):
            return row
    return None


def rows_within(name, where):
    """Returns the rows of table `name` that `where` (plots.py) does not exclude."""
    return [row for row in TABLES[name].rows
            if all(key not in row.factors
                   or row.factors[key] in (wanted if isinstance(wanted, list | tuple | set)
                                           else [wanted])
                   for key, wanted in where.items())]
