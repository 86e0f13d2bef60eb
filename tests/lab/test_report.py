"""The report, from canned data: content, valid HTML and Markdown, no network, reproducible bytes.

Also that the report in docs/lab is the one of the results there.
"""

import collections
import copy
import csv
import html
import html.parser
import re
import subprocess
from xml.etree import ElementTree

import pytest

import canned
from harness import chapters, drawing, experiments, markdown, plots, report, results, tables

COMMITTED = canned.LAB.parent / "docs/lab"
VOID = {"meta", "link", "br", "hr", "img", "input", "path", "use"}  # the SVG's are self-closing


class Page(html.parser.HTMLParser):
    """Fails on unbalanced tags. Collects ids, references and text."""

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.references, self.tags = [], [], [], collections.Counter()
        self.words = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.handle_startendtag(tag, attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags[tag] += 1
        for name, value in attrs:
            if name == "id":
                self.ids.append(value)
            if name in ("href", "src", "xlink:href", "srcset", "action", "data"):
                self.references.append(value)

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag, f"</{tag}> at {self.getpos()}"

    def handle_data(self, data):
        if not self.open or self.open[-1] != "style":
            self.words.append(data)

    @property
    def text(self):
        return re.sub(r"[ \n]+", " ", " ".join(self.words))


def html_tables(text):
    """Returns the body of each table: a list of rows, each a list of texts."""
    return [[[_plain(html.unescape(re.sub(r"<[^>]*>", "", field)))
              for field in re.findall(r"<t[hd]\b[^>]*>(.*?)</t[hd]>", row)]
             for row in re.findall(r"<tr\b[^>]*>(.*?)</tr>", body, re.DOTALL)]
            for body in re.findall(r"<tbody>(.*?)</tbody>", text, re.DOTALL)]


def markdown_tables(text):
    """As html_tables(). Fails where a row has not as many fields as its table's head."""
    found = []
    for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        head, rule, *rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in block.splitlines()]
        assert all(re.fullmatch(r" ---:? ", field) for field in rule), block
        assert {len(row) for row in rows} == {len(rule)} == {len(head)}, block
        found.append([[_plain(re.sub(r"\\(.)|`", r"\1", field)) for field in row] for row in rows])
    return found


def _plain(field):
    """The Markdown page has ranges in brackets."""
    return re.sub(r"[()]", "", field).strip()


def pictures_of(text):
    return re.findall(r"!\[[^\n]*\]\(([^()\n]+)\)", text)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    report.write(canned.whole(), folder, canned.definitions())
    return folder


@pytest.fixture(scope="module")
def page(folder):
    return Page((folder / "report.html").read_text())


@pytest.fixture(scope="module")
def readme(folder):
    return (folder / "README.md").read_text()


def page_of(measured, tmp_path, definitions=None):
    return Page(report.write(measured, tmp_path, definitions or {}).read_text())


def test_it_is_valid_and_offline(page, folder):
    assert len(page.ids) == len(set(page.ids))
    for reference in page.references:
        assert not re.match(r"(https?:)?//", reference)
        if reference.startswith("#"):
            assert reference[1:] in page.ids
    assert page.tags["script"] == page.tags["link"] == page.tags["img"] == 0
    assert "@import" not in (folder / "report.html").read_text()


def test_it_begins_with_sentences_and_charts(page):
    text = page.text
    places = [text.index(words) for words in (
        "38 of 66 runs were done",
        "A request for a small file takes h2server 7.40 µs of a processor over HTTP/2 in cleartext: "
        "0.71 × nginx’s, 0.99 × nghttpd’s (within the spread), and 3.70 × the floor’s.",
        "Of all 2 comparisons with other servers that these measurements allow, h2server is better in 1 "
        "and worse in 0; in 1 the difference is within the spread.",
        "processor time, µs", "What does a request cost?", "Which server needs the least?",
        "h2server needs 0.71 × (0.66–0.75) the CPU per request of nginx: 7.40 µs against 10.4 µs",
        "What this does not show: Latency.", "lab/run peers --rounds 5",
        "▲ better: 1 ▼ worse: 0 = equal: 1", "A number is the median of all rounds", "governor performance",
        "0123456789ab")]
    assert places == sorted(places)
    assert "0123456789abc" not in text


def test_a_loss_stands_in_its_chapter_and_in_the_list(tmp_path):
    measured = canned.whole()
    for run in measured.experiments[0].runs:
        if run.factors["server"] == "nginx":
            run.measures["cpu_us"] /= 3
    text = page_of(measured, tmp_path, canned.definitions()).text
    assert text.count("h2server needs 2.13 × (1.98–2.26) the CPU per request of nginx") == 1
    assert "worse in 1;" in text
    assert "7.40 µs nginx 3.47 µs 2.13 × (1.98–2.26)" in text


def test_findings_stand_with_the_first_plot_that_shows_them(folder):
    text = (folder / "report.html").read_text()
    plot = re.search(r'<figure class="plot card" id="peers-2">.*?</figure>', text, re.DOTALL)[0]
    assert "the CPU per request of nginx" in plot
    readme = (folder / "README.md").read_text()
    after = readme[readme.index("plots/peers-2.svg"):readme.index("plots/peers-3.svg")]
    assert "the CPU per request of nginx" in after


def test_a_finding_that_no_figure_shows_is_not_lost(tmp_path):
    definitions = canned.definitions()
    definitions["peers"].figures = [plots.Table("Rates", "server", ["rps"])]
    text = page_of(canned.whole(), tmp_path, definitions).text
    assert "h2server needs 0.71 × (0.66–0.75) the CPU per request of nginx" in text


def test_each_experiment_has_one_chapter():
    named = [name for chapter in chapters.CHAPTERS for name in chapter.names]
    assert sorted(named) == sorted(experiments.ALL)
    found = chapters.sections(["idle", "new", "peers"])
    assert [(chapter.id, names) for chapter, names in found if names] == [
        ("request", ["peers"]), ("memory", ["idle"]), ("others", ["new"])]


def test_it_says_what_is_missing(page):
    assert "Interrupted: 38 of 66 runs were done." in page.text
    assert "A quick run leaves out cells of a full one" in page.text
    assert "Against its peers : 2 of 22 runs" in page.text
    assert "caddy : not installed" in page.text
    assert 'h2o, round 1 : exit status 1: "<broken> & gone"' in page.text


def test_a_whole_report_has_no_banner(tmp_path):
    measured = canned.whole()
    measured.interrupted = False
    measured.mode = "full"
    measured.experiments = [canned.rates()]
    text = page_of(measured, tmp_path, canned.definitions()).text
    assert "were done" not in text
    assert "leaves out" not in text
    measured.experiments[0].environment = {"run": "quick, 5 rounds"}  # joined with a later full run
    assert "leaves out" in page_of(measured, tmp_path, canned.definitions()).text


def test_the_table_has_median_range_floor_and_seed(page):
    row = re.search(r"h2server 7\.40 .*?nginx 10\.4", page.text)[0]
    for words in ("7.20–7.60", "3.70 ×", "5.14", "135\u202f135", "192\u202f896", "6.70"):
        assert words in row
    assert "nghttpd †" in page.text
    assert "† The client was the limit" in page.text
    assert "Median and range of 5 rounds." in page.text
    assert "h2-server, 2025: H2 Server (chapter 4, Benchmark)" in page.text
    assert "It repeats measurements of “H2 Server (chapter 4, Benchmark)”" in page.text


def test_the_floor_is_found_even_where_the_table_leaves_it_out():
    found = tables.view(plots.Table("t", "server", ["rps", "cpu_us"], where={"server": "nginx"},
                                    ratio="cpu_us"), canned.peers())
    assert [column.parts for column in found.columns] == [["ours"], ["ours", "ratio"]]
    assert [value.text for value in found.rows[0].values] == ["96\u202f154", "10.4", "5.20 ×"]


def test_cells_are_never_mixed():
    experiment = canned.rates()
    found = tables.view(plots.Table("t", "server", ["p99_ms"], where={"server": "h2server"}),
                        experiment)
    assert found.factors == ["server", "rate"] and len(found.rows) == 4


def test_names_are_escaped(page, folder):
    assert "Sizes <script>\"&" in page.text
    assert "<b>&\"x" in page.text
    assert "6.1 <test>" in page.text
    source = (folder / "report.html").read_text()
    assert "<script" not in source and "<b>" not in source and "<this>" not in source


def test_plots_are_files_of_well_formed_svg_without_pixels(folder):
    files = sorted((folder / "plots").iterdir())
    assert [file.name for file in files] == [
        "chapter-threads-1.svg", "chapter-tls-1.svg", "peers-2.svg", "peers-3.svg", "rates-1.svg", "sizes-1.svg", "sizes-2.svg",
        "summary-1.svg"]
    for file in files:
        tree = ElementTree.parse(file)
        tags = {element.tag.rpartition("}")[2] for element in tree.iter()}
        assert "text" in tags and "image" not in tags and "metadata" not in tags
    words = " ".join(ElementTree.parse(files[6]).getroot().itertext())
    assert "CPU <&> $x$" in words and '<b>&"x' in words


def test_all_runs_are_in_the_csv(folder):
    with (folder / "runs.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 38
    first = rows[0]
    assert (first["experiment"], first["server"], first["round"]) == ("peers", "h2server", "0")
    assert (first["cpu_us"], first["rate"]) == ("7.4", "")
    assert "nan" not in (folder / "runs.csv").read_text()
    assert first["command"].startswith("h2load")


def test_equal_data_gives_equal_bytes(folder, tmp_path):
    report.write(canned.whole(), tmp_path, canned.definitions())
    names = ["report.html", "README.md", "runs.csv", "csv/peers.csv",
             *(f"plots/{p.name}" for p in (folder / "plots").iterdir())]
    for name in names:
        assert (folder / name).read_bytes() == (tmp_path / name).read_bytes(), name


def test_a_later_report_leaves_no_plot_of_an_earlier_one(tmp_path):
    report.write(canned.whole(), tmp_path, canned.definitions())
    measured = canned.whole()
    measured.experiments = measured.experiments[:1]
    report.write(measured, tmp_path, canned.definitions())
    assert [file.name for file in sorted((tmp_path / "plots").iterdir())] == [
        "chapter-threads-1.svg", "chapter-tls-1.svg", "peers-2.svg", "peers-3.svg", "summary-1.svg"]


def test_nothing_measured_is_a_report_too(tmp_path):
    measured = results.Results("smoke", "2026-01-02T03:04:05", interrupted=True)
    measured.experiments = [results.Experiment(name, "lab/run", 5)
                            for name in canned.definitions()]
    text = page_of(measured, tmp_path, canned.definitions()).text
    assert "No sentence can be made of it: too little was measured." in text
    assert "Nothing was measured for this." in text


def test_without_a_definition_all_is_shown(tmp_path):
    text = page_of(canned.whole(), tmp_path).text
    assert "All that was measured" in text
    assert "120000 118\u202f800" in text and "66.0 60.0–72.0" in text


def test_a_figure_that_fails_costs_nothing_but_itself(tmp_path):
    definitions = canned.definitions()
    definitions["peers"].figures.insert(0, plots.Table("Broken", "server", ["cpu_us"], seed="none"))

    def findings_that_fail(_):
        raise KeyError("gone")

    definitions["rates"].findings = findings_that_fail
    text = page_of(canned.whole(), tmp_path, definitions).text
    assert "could not be drawn: KeyError: 'none'" in text
    assert "The findings of rates could not be written: KeyError: 'gone'" in text
    assert "7.20–7.60" in text


def test_names_that_look_alike_keep_their_ids_apart(tmp_path):
    measured = canned.whole()
    twin = copy.deepcopy(measured.experiments[0])
    twin.name = "peers!"
    third = copy.deepcopy(twin)
    third.name = "peers 2"
    measured.experiments += [twin, third]
    definitions = canned.definitions()
    definitions["peers!"] = definitions["peers 2"] = definitions["peers"]
    page = page_of(measured, tmp_path, definitions)
    assert len(page.ids) == len(set(page.ids))


def test_only_the_seeds_rows_that_ours_could_stand_beside_are_added():
    # 4.2.2 has 32 rows; the table compares servers with h2c, one thread and one load.
    found = tables.view(canned.definitions()["peers"].figures[0], canned.peers())
    texts = [value.text for row in found.rows for value in row.values]
    assert texts.count("205\u202f406") == 1  # nghttpd with the same load
    assert "375\u202f828" not in texts  # with the other load


def test_a_flagged_row_of_the_seed_is_marked(tmp_path):
    experiment = results.Experiment("stages", "lab/run stages", 1, [canned.run(
        {"server": "h2server", "stage": "router", "protocol": "h2c", "load": canned.LOAD}, 0,
        cpu_us=5.0, p99_ms=7.0)])
    definition = canned.Definition("Stages", "", [plots.Table(
        "4.1", ("stage", "protocol"), ["cpu_us", "p99_ms"], seed="article/stages",
        order={"stage": ["prototype", "mmap", "router", "balancer"]})], lambda _: [])
    measured = results.Results("quick", "2026-01-02", experiments=[experiment])
    text = page_of(measured, tmp_path, {"stages": definition}).text
    assert "0.00633 ‡" in text.replace("0.00633‡", "0.00633 ‡")
    assert "‡ Evidently wrong in the source: only its QPS can be its own" in text
    assert text.index("prototype") < text.index("balancer")  # only in the seed, but in order


@pytest.mark.parametrize("figure", [
    plots.Lines("t", "rate", "p99_ms"), plots.Bars("t", "p99_ms", "rate"),
    plots.HeatMap("t", "rate", "server", "p99_ms"), plots.Percentiles("t")])
def test_missing_measures_break_no_figure(figure):
    experiment = canned.rates()
    svg = drawing.draw(figure, experiment, {"server=nginx rate=50000": []}, "x")
    assert (svg is None) == isinstance(figure, plots.Percentiles)
    experiment.runs = []
    assert drawing.draw(figure, experiment, {}, "x") is None


def test_a_server_has_one_colour_whatever_stands_beside_it():
    svg = {where: drawing.draw(plots.Bars("t", "cpu_us", "protocol", where={"server": list(where)}),
                               canned.peers(), {}, "x")
           for where in (("nginx", "floor"), ("h2server", "nginx", "nghttpd"))}
    assert all("#009e73" in text for text in svg.values())


def test_the_program_writes_a_report_again(tmp_path):
    measured = canned.whole()
    results.save(measured, tmp_path)
    done = subprocess.run([canned.LAB / "report", tmp_path], check=True,
                          capture_output=True, text=True)
    assert done.stdout.strip() == str(tmp_path / "report.html")
    assert "h2server" in (tmp_path / "report.html").read_text()


def test_the_markdown_page_has_every_table(folder, readme):
    expected = html_tables((folder / "report.html").read_text())
    found = markdown_tables(readme)
    # The table of the experiment in two pieces, that of the chapter on threads, the programs.
    assert len(expected) == 7 and all(expected)
    assert [table for table in found if table in expected] == expected
    assert ["governor", "performance"] in found[-2]  # the environment, no table in the HTML


def test_the_markdown_page_shows_every_plot(folder, readme):
    assert sorted(pictures_of(readme)) == sorted(
        f"plots/{file.name}" for file in (folder / "plots").iterdir())


def test_the_links_of_the_markdown_page_have_targets(readme):
    targets = re.findall(r'<a id="([^"]+)"></a>', readme)
    assert len(targets) == len(set(targets)) == 9
    assert set(re.findall(r"\]\(#([^)]+)\)", readme)) == set(targets)


def test_the_markdown_page_has_what_the_html_has(readme):
    text = re.sub(r"\\(.)", r"\1", readme)
    for words in ("Interrupted: 38 of 66 runs were done", "A quick run leaves out", "▲ better: 1, ▼ worse: 0",
                  "h2server needs 0.71 × (0.66–0.75) the CPU per request of nginx",
                  "*What this does not show:* Latency.", "| nghttpd † |", "h2-server, 2025: H2 Server",
                  "Which server needs the least?", "`lab/run peers --rounds 5`",
                  "**caddy**: not installed", "What the paper found"):
        assert words in text


def test_the_markdown_page_escapes_names(readme):
    assert 'Sizes \\<script\\>"\\&' in readme
    assert "![CPU \\<\\&\\> \\$x\\$]" in readme
    assert "kernel | 6.1 \\<test\\>" in readme
    tags = set(re.findall(r"(?<!\\)</?(\w+)", re.sub(r"`[^`\n]*`", "", readme)))
    assert tags <= {"a", "br", "details", "summary"}


@pytest.mark.parametrize("given, escaped", [
    ("a_b _c_ *d*", r"a_b \_c\_ \*d\*"), ("a|b\nc", r"a\|b c"), ("96\u202f154", "96\u202f154"),
    ("[x](y) `z` \\ $m$ ~n~", r"\[x\](y) \`z\` \\ \$m\$ \~n\~")])
def test_markdown_escapes_signs(given, escaped):
    assert markdown.text(given) == escaped


@pytest.mark.parametrize("given, span", [
    ("a *b*", "`a *b*`"), ("a `b`", "`` a `b` ``"), ("", ""), ("a|b", r"`a\|b`")])
def test_markdown_code_in_a_table(given, span):
    assert markdown.code_cell(given) == span


def test_the_markdown_page_folds_tables(tmp_path):
    runs = [canned.run({"server": f"server {number}"}, 0, cpu_us=1.0) for number in range(13)]
    measured = results.Results("quick", "2026-01-02", experiments=[
        results.Experiment("many", "lab/run many", 13, runs)])
    report.write(measured, tmp_path, {})
    text = (tmp_path / "README.md").read_text()
    assert text.count("<details>") == text.count("</details>") == 1
    assert "<details>\n<summary>All that was measured (13 rows)</summary>\n\n| server |" in text


def test_a_wide_table_comes_in_pieces():
    found = tables.view(plots.Table("t", "server", ["cpu_us", *["p50_ms"] * 9, "rps"]), canned.peers())
    heads = [head for piece in found.pieces for head in piece.heads]
    assert heads == ["CPU a request", "CPU a request, × floor", *["p50"] * 9, "requests a second"]
    assert all(len(found.factors) + len(piece.heads) <= 9 for piece in found.pieces)
    assert [len(row) for row in found.pieces[1].fields] == [len(found.pieces[1].heads)] * 4


def test_the_csv_of_an_experiment_has_its_cells(folder):
    with (folder / "csv/peers.csv").open(newline="") as file:
        rows = {row["server"]: row for row in csv.DictReader(file)}
    assert len(rows) == 4
    nginx = rows["nginx"]
    assert (nginx["rounds"], nginx["cpu_us median"]) == ("5", "10.4")
    assert (nginx["cpu_us lowest"], nginx["cpu_us highest"]) == ("10.1", "10.9")


def test_the_committed_page_names_only_files_that_exist():
    text = (COMMITTED / "README.md").read_text()
    assert pictures_of(text)
    for target in re.findall(r"\]\(([^()#\n][^()\n]*)\)", text):
        assert (COMMITTED / target).is_file(), target


def test_the_committed_pictures_are_small():
    sizes = {file.name: file.stat().st_size for file in (COMMITTED / "plots").iterdir()}
    assert sizes and not {name: size for name, size in sizes.items() if size >= 60_000}


def test_the_committed_report_is_small():
    """Whoever clones the project downloads it, with each version that it has had."""
    files = [COMMITTED / name for name in ("README.md", results.FILE, "attacks.json", "handshakes.json")]
    assert sum(file.stat().st_size for file in [*files, *(COMMITTED / "plots").iterdir()]) < 1_500_000


def test_the_committed_page_is_the_one_of_the_committed_results(tmp_path, monkeypatch):
    monkeypatch.setattr(drawing, "draw", lambda *_: "<svg/>")
    report.write(results.load(COMMITTED), tmp_path, experiments.ALL)
    assert (tmp_path / "README.md").read_text() == (COMMITTED / "README.md").read_text(), (
        "lab/report docs/lab writes it again")
    assert sorted(file.name for file in (tmp_path / "plots").iterdir()) == sorted(
        file.name for file in (COMMITTED / "plots").iterdir())
