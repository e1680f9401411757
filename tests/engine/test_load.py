"""Loading: every fault is found at once, at its line, in words that say what to do."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from diagnose.engine.compiled import SignatureSet
from diagnose.engine.faults import Fault
from diagnose.engine.load import bundled_folder, load
from diagnose.errors import SignatureError, SignatureErrors


def faults(text: str, metrics: Any, folder: Path, **options: Any) -> list[SignatureError]:
    (folder / "apple-storm.toml").write_text(text, encoding="utf-8")
    with pytest.raises(SignatureErrors) as caught:
        load([folder], metrics, **options)
    return caught.value.faults


def line_of(text: str, piece: str) -> int:
    return next(i for i, line in enumerate(text.splitlines(), 1) if piece in line)


def test_the_base_signature_loads(base: str, metrics: Any, tmp_path: Path) -> None:
    (tmp_path / "apple-storm.toml").write_text(base)
    (tmp_path / "notes.txt").write_text("not a signature")
    loaded = load([tmp_path], metrics)
    assert isinstance(loaded, SignatureSet) and [s.id for s in loaded] == ["apple-storm"] and len(loaded) == 1
    signature = loaded["apple-storm"]
    call = signature.calls["part"]
    assert (call.metric, dict(call.params), call.unit, call.kind) == (
        "share",
        {"of": "apple", "skip": "a,b"},
        "ratio",
        "number",
    )
    assert signature.calls["kind"].kind == "text" and signature.calls["busy"].kind == "flag"
    assert loaded.warnings == (
        f"{tmp_path / 'apple-storm.toml'}: explains names other-thing, which is not loaded",
        f"{tmp_path / 'apple-storm.toml'}: see names pear-storm, which is not loaded",
    )


@pytest.mark.parametrize(
    ("old", "new", "place", "says", "hint"),
    [
        (
            'when  = "part >= min_part"',
            "when  = \"part >= '60 percent'\"",
            'step "large_part", when',
            "part is a number, compared with text '60 percent'",
            "write 0.60",
        ),
        (
            'when  = "part >= min_part"',
            'when  = "part >= min_prt"',
            'step "large_part", when',
            "unknown name min_prt",
            "did you mean min_part?",
        ),
        (
            'when  = "part >= min_part"',
            'when  = "part"',
            'step "large_part", when',
            "must be yes/no",
            "part > 0",
        ),
        ('when  = "part >= min_part"', 'when  = "NOT part"', 'step "large_part", when', "NOT needs", ""),
        (
            'when  = "part >= min_part"',
            'when  = "costly"',
            'step "large_part", when',
            "unknown name costly",
            "",
        ),
        (
            'when = "text > 0"',
            'when = "txt > 0"',
            'step "asked", way "said", when',
            "unknown name txt",
            "text?",
        ),
        (
            "when       = \"kind = 'plum'\"",
            'when = "kind = 1"',
            'rule_out "plums", when',
            "compared with number 1",
            "",
        ),
        (
            '"enough AND large_part"',
            '"enough AND big"',
            'verdict "probable", when',
            "name big",
            "",
        ),
        (
            '"enough AND large_part"',
            '"confirmed AND enough"',
            'verdict "probable", when',
            "unknown name confirmed",
            "",
        ),
        ('"confirmed AND kind', '"sure AND kind', "note 1, when", "unknown name sure", ""),
        ('lost_ns = "cost"', 'lost_ns = "cost > 1"', "impact, lost_ns", "must be a number", ""),
        ('lost_ns = "cost"', 'lost_ns = "kost"', "impact, lost_ns", "unknown name kost", "cost?"),
        ('metric = "share", of', 'metric = "shore", of', 'fact "part"', "unknown metric shore", "share?"),
        ('of = "apple", skip', 'off = "apple", skip', 'fact "part"', "share has no parameter off", "of?"),
        (
            '{ metric = "count", of = "apple" }',
            '{ metric = "count", of = "aple" }',
            'fact "n"',
            "'aple'",
            "apple?",
        ),
        ('{ metric = "count", of = "apple" }', '{ metric = "count", of = 3 }', 'fact "n"', "text, not 3", ""),
        (
            '{ metric = "count", of = "apple" }',
            '{ metric = "count", over = "x" }',
            'fact "n"',
            "a number, not 'x'",
            "",
        ),
        (
            '{ metric = "count", of = "apple" }',
            '{ metric = "count", over = true }',
            'fact "n"',
            "number, not True",
            "",
        ),
        (
            '{ metric = "count", of = "apple" }',
            '{ metric = "per_process" }',
            'fact "n"',
            "measured for process, not for a device",
            "",
        ),
        (
            'helpful = ["log", "devices"]',
            'helpful = ["devices"]',
            'fact "text"',
            "hits reads the table log, which is not in [needs]",
            'add "log"',
        ),
        ('says  = "{n:,} apples"', 'says  = "{m:,} apples"', 'step "enough", says', "{m} is neither", ""),
        (
            'says  = "{n:,} apples"',
            'says  = "{n.__class__}"',
            'step "enough", says',
            "not a plain name",
            "",
        ),
        ('says  = "{n:,} apples"', 'says  = "{n!r}"', 'step "enough", says', "not a plain name", ""),
        ('says  = "{n:,} apples"', 'says  = "{n:>9999999}"', 'step "enough", says', "format ':>9999999'", ""),
        ('says  = "{n:,} apples"', 'says  = "{n:{part}}"', 'step "enough", says', "format", ""),
        ('says  = "{n:,} apples"', 'says  = "{n"', 'step "enough", says', "braces", ""),
        ('says  = "{n:,} apples"', 'says  = "{} apples"', 'step "enough", says', "not a plain name", ""),
        ('says  = "{n:,} apples"', 'says  = "{kind:.1f}"', 'step "enough", says', "needs a number", ""),
        ('"{n:,} apples take', '"{mm} apples take', "summary", "{mm} is neither", ""),
        ('bound   = "at most {cost}"', 'bound = "{cots}"', "impact, bound", "{cots}", "cost?"),
        ('do     = "eat them"', 'do = "run {x}"', "remedy 1, do", "{x} is neither", ""),
        ('id    = "costly"', 'id    = "enough"', 'step "enough", id', "already used by a step", ""),
        ('id    = "costly"', 'id    = "part"', 'step "part", id', "already used by a fact", ""),
        ('id         = "plums"', 'id = "costly"', 'rule_out "costly", id', "already used by a step", ""),
        ('  id   = "said"', '  id   = "seen"', 'way "seen", id', "already used by a way", ""),
        ("min_n    = {", "cost = {", 'fact "cost"', "already used by a threshold", ""),
    ],
)
def test_one_fault(
    base: str, metrics: Any, tmp_path: Path, old: str, new: str, place: str, says: str, hint: str
) -> None:
    assert old in base
    found = faults(base.replace(old, new, 1), metrics, tmp_path)
    wanted = [f for f in found if says in f.message and place in f.where]
    assert wanted, [str(f) for f in found]
    assert hint in wanted[0].hint
    assert isinstance(wanted[0], Fault)
    # A fact's metric may be at fault because of [needs]: then the line is the fact's.
    if not place.startswith("fact"):
        assert wanted[0].line == base[: base.index(old)].count("\n") + 1


def test_variants_must_exist(base: str, metrics: Any, tmp_path: Path) -> None:
    case = '\n[[case]]\nname = "x"\nexpect = "absent"\nvariant = "third"\nfacts = { n = 1 }\n'
    text = (
        base.replace('do      = "measure first"\nvariant = "unmeasured"', 'do = "m"\nvariant = "other"')
        + case
    )
    found = faults(text, metrics, tmp_path)
    assert [(f.where.split(": ")[1], f.message) for f in found] == [
        ("remedy 2, variant", "no verdict has the variant 'other'"),
        ('case "x", variant', "no verdict has the variant 'third'"),
    ]


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        ("{ m = 1 }", "unknown fact m"),
        ("{ n = true }", "n is a number, not True"),
        ("{ n = 'x' }", "n is a number, not 'x'"),
        ("{ busy = 1 }", "busy is yes/no, not 1"),
        ("{ kind = 1 }", "kind is text, not 1"),
    ],
)
def test_facts_of_cases(base: str, metrics: Any, tmp_path: Path, facts: str, says: str) -> None:
    text = base + f'\n[[case]]\nname = "x"\nexpect = "absent"\nfacts = {facts}\n'
    (fault,) = faults(text, metrics, tmp_path)
    assert fault.message.startswith(says)
    assert isinstance(fault, Fault) and fault.line == len(text.splitlines())


def test_where_and_excerpt(base: str, metrics: Any, tmp_path: Path) -> None:
    text = base.replace('when  = "part >= min_part"', "when  = \"part >= '60 percent'\"")
    (fault,) = faults(text, metrics, tmp_path)
    line = line_of(text, "60 percent")
    assert str(fault) == (
        f'{tmp_path / "apple-storm.toml"}:{line}: step "large_part", when: '
        "part is a number, compared with text '60 percent'"
    )
    assert isinstance(fault, Fault)
    rows = fault.excerpt.splitlines()
    assert rows[0] == f'{line - 3} | id    = "large_part"'
    assert rows[1] == f"{line} | when  = \"part >= '60 percent'\""
    assert rows[2].strip(" |") == "~~" and rows[2].index("~") == rows[1].index(">=")


def test_all_faults_of_all_files(base: str, metrics: Any, tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text(base.replace('min_part"', 'min_prt"').replace("n > 0", "m > 0"))
    (tmp_path / "two.toml").write_text(
        base.replace("version  = 3", "version  = 0").replace('"stable"', '"x"')
    )
    (tmp_path / "three.toml").write_text("schema = = 1")
    (tmp_path / "good.toml").write_text(base)
    with pytest.raises(SignatureErrors) as caught:
        load([tmp_path], metrics)
    told = [str(f).removeprefix(str(tmp_path) + "/").split(":", 1)[0] for f in caught.value.faults]
    assert told == ["one.toml", "one.toml", "three.toml", "two.toml", "two.toml"]
    assert str(caught.value).count("\n") == 4


def test_structure_in_our_words(base: str, metrics: Any, tmp_path: Path) -> None:
    def one(old: str, new: str) -> tuple[str, str]:
        found = faults(base.replace(old, new, 1), metrics, tmp_path)
        return found[0].where.rsplit(":", 1)[-1].strip() + ": " + found[0].message, found[0].hint

    assert one('title    = "Too many apples"\n', "") == ("title: the key title is missing", "")
    assert one('scope    = "device"', 'scope = "device"\nlenght_gate = true') == (
        "lenght_gate: unknown key lenght_gate",
        "did you mean length_gate?",
    )
    assert one('  when = "text > 0"', '  when = "text > 0"\n  decisiv = true') == (
        'step "asked", way "said", decisiv: unknown key decisiv',
        "did you mean decisive?",
    )
    assert one('role  = "cause"', 'role = "reason"')[0] == (
        "step \"large_part\", role: 'reason' is not one of 'gate', 'cause', 'effect', 'support' or 'context'"
    )
    assert one('id    = "enough"', 'id = "select"')[0].endswith(
        "select is a reserved word: take another name"
    )


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"schema = 1\nschema = 1\n", "not valid TOML"),
        (b"schema = \n", "not valid TOML"),
        (b"x = " + b"[" * 20_000, ""),
        (b"x = " + b"9" * 5_000, ""),
        (b"\xff\xfe", "not UTF-8"),
        (b"# " + b"x" * 300_000, "larger than 256 kB"),
        (b"", "missing"),
    ],
)
def test_hostile_files(content: bytes, says: str, metrics: Any, tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_bytes(content)
    begun = time.perf_counter()
    with pytest.raises(SignatureErrors) as caught:
        load([tmp_path], metrics)
    assert says in str(caught.value)
    assert time.perf_counter() - begun < 5


def test_toml_syntax_error_has_its_line(metrics: Any, tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text("schema = 1\n\ntitle = oops\n")
    with pytest.raises(SignatureErrors, match=r"bad\.toml:3: not valid TOML"):
        load([tmp_path], metrics)


def test_file_name_is_the_id(base: str, metrics: Any, tmp_path: Path) -> None:
    (tmp_path / "Apple_Storm.toml").write_text(base)
    with pytest.raises(SignatureErrors, match="no signature id"):
        load([tmp_path], metrics)


def test_own_folder_replaces_only_when_it_says_so(base: str, metrics: Any, tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    for folder in (ours, theirs):
        folder.mkdir()
        (folder / "apple-storm.toml").write_text(base)
    with pytest.raises(SignatureErrors, match="already loaded from"):
        load([theirs, ours], metrics)
    (ours / "apple-storm.toml").write_text(base.replace("version  = 3", "version  = 9\nreplaces = true"))
    assert load([theirs, ours], metrics)["apple-storm"].file.version == 9
    assert any("there is no other" in w for w in load([ours], metrics).warnings)


def test_folders_that_are_not_there(metrics: Any, tmp_path: Path) -> None:
    with pytest.raises(SignatureErrors, match="no such folder"):
        load([tmp_path / "nothing"], metrics)
    assert load([tmp_path], metrics).warnings == (f"{tmp_path}: no signature files (*.toml)",)


def test_overrides(base: str, metrics: Any, tmp_path: Path) -> None:
    (tmp_path / "apple-storm.toml").write_text(base)
    loaded = load([tmp_path], metrics, overrides={"apple-storm": {"min_n": 7}})["apple-storm"]
    assert (loaded.thresholds["min_n"].value, loaded.thresholds["min_n"].overridden) == (7.0, True)
    assert (loaded.thresholds["min_part"].value, loaded.thresholds["min_part"].overridden) == (0.2, False)
    with pytest.raises(SignatureErrors) as caught:
        load([tmp_path], metrics, overrides={"apple-storm": {"min_m": 7}, "aple-storm": {"x": 1}})
    assert [(str(f), f.hint) for f in caught.value.faults] == [
        ("configuration, thresholds.apple-storm.min_m: no such threshold", "did you mean min_n?"),
        ("configuration, thresholds.aple-storm: no such signature", "did you mean apple-storm?"),
    ]


def test_exhibits_and_claims_are_checked_when_given(base: str, metrics: Any, tmp_path: Path) -> None:
    text = base.replace(
        'bound   = "at most {cost}"',
        'bound = "b"\nclaims = { metric = "shares", of = "apple" }\n\n'
        '[[exhibit]]\nmetric = "sites"\nof = "apple"',
    )
    (tmp_path / "apple-storm.toml").write_text(text)
    loaded = load([tmp_path], metrics)["apple-storm"]
    assert loaded.claims is not None and loaded.claims.metric == "shares"
    assert loaded.exhibits[0].params == {"of": "apple"}
    found = faults(
        text, metrics, tmp_path, exhibits={"site": metrics["share"]}, claims={"share": metrics["share"]}
    )
    assert [(f.message, f.hint) for f in found] == [
        ("unknown exhibit sites", "did you mean site?"),
        ("unknown claim shares", "did you mean share?"),
    ]


def test_bundled_folder_exists() -> None:
    assert bundled_folder().is_dir()
