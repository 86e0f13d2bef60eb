"""Colours and signs of the plots: one colour for each server, light and dark."""

import re

from harness.cells import FLOOR

# {name: (light, dark)}. Light colours are drawn; for_both_themes() adds the dark ones. Series have
# Okabe and Ito's palette, distinguishable by the colour-blind.
THEME = {
    "ink": ("#222222", "#e4e8ee"),
    "soft": ("#5a6472", "#a9b3c0"),
    "axis": ("#9a9a9b", "#6d7885"),
    "grid": ("#e4e4e5", "#303843"),
    "blue": ("#0072b2", "#4aa8e8"),
    "vermilion": ("#d55e00", "#f58a3d"),
    "green": ("#009e73", "#2fc79a"),
    "purple": ("#cc79a7", "#dd92bb"),
    "orange": ("#e69f00", "#eeb02c"),
    "sky": ("#56b4e9", "#7cc8f2"),
    "grey": ("#555556", "#a2abb6"),
    "wine": ("#882255", "#d0709f"),
    "olive": ("#999933", "#b9b955"),
    "indigo": ("#332288", "#9b8ee6"),
}
INK, SOFT, AXIS, GRID = (THEME[name][0] for name in ("ink", "soft", "axis", "grid"))
_SERIES = [light for name, (light, _) in list(THEME.items())[4:] if name != "grey"]  # the floor's
_SERVERS = {
    "h2server": "blue", "nginx": "green", "nghttpd": "vermilion", "h2o": "purple",
    "lighttpd": "orange", "caddy": "sky", "floor": "grey", "zy-http": "wine",
    "libevent-server": "olive",
}
_MARKERS = "osD^vPX*<>"
_DASHES = ["-", "--", "-.", ":"]
_TINTS = [1.0, 0.62, 0.4, 0.26]  # opacity of the second, third … value of another factor


class Looks:
    """Colour by server or by the first varying factor; marker, dash and tint by the others."""

    def __init__(self, keys, factors):
        self._keys = list(keys)
        varying = [place for place in range(len(factors))
                   if len({key[place] for key in self._keys}) > 1] or list(range(len(factors)))
        servers = [place for place in varying if factors[place] == "server"]
        self._place = (servers or varying)[0]
        self._servers = factors[self._place] == "server"
        self._values = list(dict.fromkeys(key[self._place] for key in self._keys))
        self._rests = list(dict.fromkeys(self._rest(key) for key in self._keys))

    def _rest(self, key):
        return key[: self._place] + key[self._place + 1 :]

    def colour(self, key):
        value = key[self._place]
        if self._servers:
            return server_colour(value, self._values)
        return series_colour(self._values.index(value))

    def tint(self, key):
        """Returns an opacity that tells cells of one colour apart; all alike if they are too many."""
        mine = [self._rest(one) for one in self._keys if one[self._place] == key[self._place]]
        rests = list(dict.fromkeys(mine))
        return _TINTS[rests.index(self._rest(key))] if len(rests) <= len(_TINTS) else _TINTS[0]

    def line(self, key):
        """Returns (colour, marker, dash). Lines of one server have a colour each."""
        rest = self._rests.index(self._rest(key))
        value = key[self._place]
        if self._servers and value != FLOOR and len(set(self._values) - {FLOOR}) == 1:
            return series_colour(rest), _MARKERS[rest % len(_MARKERS)], "-"
        marker = self._keys.index(key)
        return self.colour(key), _MARKERS[marker % len(_MARKERS)], _DASHES[rest % len(_DASHES)]


def series_colour(place):
    return _SERIES[place % len(_SERIES)]


def source_marker(place):
    """Returns the marker of the source's series number `place`."""
    return _MARKERS[-1 - place % len(_MARKERS)]


def server_colour(server, servers):
    """Returns the server's own colour, or one that depends only on the unknown servers' names."""
    if server in _SERVERS:
        return THEME[_SERVERS[server]][0]
    unknown = sorted(str(name) for name in servers if name not in _SERVERS)
    return _SERIES[-1 - unknown.index(str(server)) % 3]


def for_both_themes(svg):
    """Returns the SVG with each colour of THEME as a CSS variable, --plot-NAME."""
    names = {light: name for name, (light, _) in THEME.items()}
    return re.sub(r"#[0-9a-f]{6}\b", lambda found: (
        f"var(--plot-{names[found[0]]}, {found[0]})" if found[0] in names else found[0]), svg)


def variables(dark):
    """Returns the CSS declarations of one theme."""
    return " ".join(f"--plot-{name}: {pair[dark]};" for name, pair in THEME.items())


def alone(svg):
    """Returns a plot as a file of its own, which follows the reader's theme."""
    style = (f"<style>:root {{ background: #ffffff; }} @media (prefers-color-scheme: dark) {{ "
             f":root {{ background: #161b21; {variables(True)} }} }}</style>")
    head, end, rest = svg.partition(">")
    return head + end + style + rest
