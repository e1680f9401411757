"""The ticket, read back by a Markdown parser of its own (markdown-it, which rich depends on)."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from reports_hostile import ALL, EVIL, hostile
from reports_make import PAGEABLE, confirmed, gpu

from diagnose.reports import RenderOptions
from diagnose.reports import markdown_escape as md
from diagnose.reports.markdown import LIMIT, render

# What we write ourselves, and what Markdown makes of our own marks: no `img`, no `em`, no other heading.
TAGS = {"h3", "p", "strong", "code", "ul", "ol", "li", "table", "thead", "tbody", "tr", "th", "td"}
TAGS |= {"sub", "br", "details", "summary", "pre", "span", "a", "blockquote"}


class Page(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.links: list[str | None] = []
        self.words: list[str] = []
        self.open: list[str] = []
        self.outside_code: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag != "br":
            self.open.append(tag)
        self.links += [v for k, v in attrs if k in ("href", "src")]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-3:]}"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.words.append(data)
        if "code" not in self.open:
            self.outside_code.append(data)


def parse(text: str) -> Page:
    # html=True: raw HTML acts as on GitHub, so that an escape that is missing shows as a tag
    return Page(MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(text))


def unfenced(text: str) -> str:
    return re.sub(r"^(`{3,})text\n.*?^\1$", "", text, flags=re.MULTILINE | re.DOTALL)


def ticket(report, **options):
    return render(report, RenderOptions(command="diagnose run.sqlite", **options))


@pytest.mark.parametrize("case", ALL)
@pytest.mark.parametrize("verbose", [False, True])
def test_the_page_holds_only_our_own_tags_and_closes_them(case, verbose):
    page = parse(ticket(ALL[case](), verbose=verbose))
    assert set(page.tags) <= TAGS
    assert page.open == []
    assert all(link == "https://github.com/pytorch/pytorch" for link in page.links)


@pytest.mark.parametrize("case", ALL)
def test_raw_text_holds_no_tag_but_ours_outside_code_spans(case):
    text = re.sub(r"`[^`\n]*`", "", unfenced(ticket(ALL[case]())))
    tags = set(re.findall(r"</?([A-Za-z!][\w-]*)", text))
    assert tags <= {"details", "summary", "sub", "br", "code", "span", "https", "!--"}


@pytest.mark.parametrize("case", ALL)
def test_every_row_of_a_table_has_as_many_cells_as_its_head(case):
    html = MarkdownIt("commonmark", {"html": True}).enable("table").render(ticket(ALL[case](), verbose=True))
    tables = re.findall(r"<table>.*?</table>", html, re.DOTALL)
    assert tables
    for table in tables:
        rows = re.findall(r"<tr>.*?</tr>", table, re.DOTALL)
        assert len(rows) > 1
        assert len({len(re.findall(r"<t[hd][ >]", row)) for row in rows}) == 1
    # and none fell apart: a broken one leaves its delimiter row in a paragraph
    assert "|---" not in re.sub(r"<pre>.*?</pre>", "", html, flags=re.DOTALL)


def test_the_source_of_table_rows_has_no_stray_pipe():
    """GitHub splits cells before it looks at code spans: count unescaped pipes in the source."""
    columns = 0
    for line in ticket(hostile()).splitlines():
        if line.startswith("|"):
            pipes = len(re.findall(r"(?<!\\)\|", line))
            columns = columns or pipes
            assert pipes == columns, line
        else:
            columns = 0


@pytest.mark.parametrize("case", ALL)
def test_fences_and_details_are_closed(case):
    text = ticket(ALL[case]())
    assert len(re.findall(r"^`{3,}", text, re.MULTILINE)) % 2 == 0
    text = unfenced(text)
    assert text.count("<details>") == text.count("</details>") == text.count("<summary>")


def test_no_mention_reference_link_or_emoji_outside_code():
    words = " ".join(parse(ticket(hostile(), verbose=True)).outside_code)
    assert "everyone" in words, "the text is there, but inert"
    assert not re.search(r"(?<![\w`])@[a-z]", words)
    assert not re.search(r"#\d", words)
    assert not re.search(r"https?://|www\.", words)
    assert not re.search(r":(x|boom):", words)


def test_hostile_names_are_shown_as_they_are():
    words = "".join(parse(ticket(hostile())).words).replace("\u200b", "")
    for evil in (
        "<script>alert(1)</script>",
        "[/red][bold]x",
        "a|b|c",
        "*star* _under_ ~~gone~~",
        "\\x1b[31mred",
    ):
        assert evil in words
    assert "\x1b" not in words and "\u202e" not in words


def test_it_says_verdict_cost_and_first_step_before_anything_else():
    lines = [x for x in ticket(confirmed()).splitlines() if x]
    assert lines[0].startswith("<!-- diagnose 0.1.0")
    assert lines[1].endswith("(`fp8-cast-storm`) · **confirmed**")
    assert "at most 22.7 s of the 61.4 s window (37.0%) on GPU 0" in lines[3]
    assert lines[4].startswith("**Do first:** Keep the GEMM")


def test_inputs_and_hashes_are_folded_away():
    text = ticket(confirmed())
    folded = text[text.index("<details>") : text.index("</details>")]
    assert "9f2c41ab" * 8 in folded and "bus 0000:17:00.0" in folded


@pytest.mark.parametrize("n", [30, 400])
def test_a_long_report_is_cut_by_whole_sections_and_says_so(n):
    many = tuple(replace(PAGEABLE, signature=f"s{i}", scope=gpu(0), summary="word " * 150) for i in range(n))
    text = ticket(replace(confirmed(), findings=(*confirmed().findings, *many)))
    assert len(text) <= LIMIT
    assert "Left out to stay below 60,000 characters" in text
    assert text.rstrip().endswith("-f md -o ticket.md`</sub>")
    # the root cause's proof and remedy outlive what was ranked after it
    assert "the casts take 38.6% of kernel time" in text and "Keep the GEMM" in text
    page = parse(text)
    assert page.open == [] and set(page.tags) <= TAGS


@pytest.mark.parametrize("case", ALL)
def test_nothing_is_longer_than_the_limit_and_small_reports_are_whole(case):
    text = ticket(ALL[case](), verbose=True)
    assert len(text) <= LIMIT
    assert case == "hostile" or "Left out" not in text


def test_ascii():
    text = ticket(confirmed(), ascii=True)
    assert text.isascii()
    assert "✔" in "".join(parse(text).words)


def test_the_environment_of_the_terminal_does_not_matter():
    assert ticket(confirmed()) == ticket(confirmed(), width=40, colour=True)


@given(st.text() | st.sampled_from(EVIL))
def test_escaped_prose_reads_back_as_it_was(words):
    page = parse("start " + md.text(words))
    assert set(page.tags) <= {"p", "span"}
    shown = "".join(page.words).replace("\u200b", "")
    assert shown.split() == ["start", *md.visible(words).split()]


@given(st.text() | st.sampled_from(EVIL))
def test_code_in_a_table_cell_reads_back_as_it_was(words):
    page = parse(f"| a | b |\n|---|---|\n| {md.code(words)} | end |\n")
    assert page.tags.count("td") == 2
    assert set(page.tags) <= {"table", "thead", "tbody", "tr", "th", "td", "code"}
    shown = "".join(page.words).replace("\u200b", "")
    assert "".join(md.visible(words).split()) in "".join(shown.split())


def test_a_line_never_begins_a_block():
    for words in (
        "# a",
        "- a",
        "+ a",
        "1. a",
        "12) a",
        "> a",
        "=== ",
        "--- ",
        "    code",
        "```",
        "~~~",
        "<!--",
    ):
        page = parse(md.text(words))
        assert set(page.tags) <= {"p", "pre", "code"} - ({"pre", "code"} if words.strip() == words else set())


def test_a_link_is_https_or_no_link():
    assert md.link("t", "https://example.com/a_b?c=1") == "[t](<https://example.com/a_b?c=1>)"
    for url in (
        "javascript:alert(1)",
        "http://example.com",
        "https://a.b/)(",
        "https://a.b/ x",
        "data:text/html,x",
    ):
        assert parse(md.link("t", url)).links == []


def test_a_comment_cannot_be_ended_from_inside():
    assert md.comment("a --> <b> -- c").count("-->") == 1


def test_a_fence_is_longer_than_any_fence_inside():
    page = parse(md.fence(["a", "```", "<b>", "````"]))
    assert page.tags == ["pre", "code"] and "".join(page.words).strip() == "a\n```\n<b>\n````"
