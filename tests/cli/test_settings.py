from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from diagnose import settings
from diagnose.cli import main
from diagnose.errors import ConfigError


def write(path: str, text: str) -> Path:
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def resolve(flags=None, *, environ=None, **options):
    options.setdefault("user_file", Path("nowhere/diagnose.toml"))
    return settings.resolve(flags, environ=environ or {}, **options)


def test_defaults():
    s = resolve()
    assert (s.format, s.fail_on, s.min_verdict, s.color) == ("text", "medium", "probable", "auto")
    assert (s.exit_zero, s.ascii, s.verbose, s.quiet, s.hash) == (False, False, False, False, True)
    assert (s.signatures, s.only, s.width, dict(s.thresholds)) == ((), (), None, {})
    assert set(s.origins.values()) == {"default"}
    assert s.notes == ()


def test_each_place_beats_the_next():
    """One setting given in all places; the places are then taken away from the top down."""
    user = write("user/diagnose.toml", 'fail_on = "low"')
    write("diagnose.toml", 'fail_on = "medium"')
    config = write("given.toml", 'fail_on = "high"')
    environ = {"DIAGNOSE_FAIL_ON": "critical"}
    near = str(Path.cwd() / "diagnose.toml")

    def got(flags, environ, config):
        s = resolve(flags, environ=environ, config=config, user_file=user)
        return s.fail_on, s.origins["fail_on"]

    assert got({"fail_on": "low"}, environ, config) == ("low", "command line")
    assert got({}, environ, config) == ("critical", "environment DIAGNOSE_FAIL_ON")
    assert got({}, {}, config) == ("high", str(Path.cwd() / "given.toml"))
    assert got({}, {}, None) == ("medium", near)
    Path("diagnose.toml").unlink()
    assert got({}, {}, None) == ("low", str(user))


def test_places_are_merged_value_by_value():
    user = write("user/diagnose.toml", 'ascii = true\nfail_on = "low"')
    write("diagnose.toml", 'fail_on = "high"')
    s = resolve(user_file=user)
    assert (s.ascii, s.fail_on) == (True, "high")


def test_thresholds_are_merged_one_by_one():
    user = write("user/diagnose.toml", "[thresholds.a-chain]\nx = 1\ny = 2\n[thresholds.b-chain]\nz = 3")
    write("diagnose.toml", "[thresholds.a-chain]\ny = 20.5")
    s = resolve({"thresholds": {"a-chain": {"w": 4}}}, user_file=user)
    assert s.thresholds == {"a-chain": {"x": 1.0, "y": 20.5, "w": 4.0}, "b-chain": {"z": 3.0}}
    assert s.origins["thresholds.a-chain.x"] == str(user)
    assert s.origins["thresholds.a-chain.y"] == str(Path.cwd() / "diagnose.toml")
    assert s.origins["thresholds.a-chain.w"] == "command line"


def test_the_nearest_file_wins_and_the_farther_one_is_not_read():
    write("diagnose.toml", 'fail_on = "low"\nascii = true')
    write("a/diagnose.toml", 'fail_on = "high"')
    s = resolve(cwd=Path("a/b").absolute())
    assert (s.fail_on, s.ascii) == ("high", False)


def test_pyproject_needs_the_table():
    write("pyproject.toml", '[tool.diagnose]\nfail-on = "high"')
    write("a/pyproject.toml", '[tool.other]\nx = "tool.diagnose"')
    write("a/b/pyproject.toml", "not toml [")
    assert resolve(cwd=Path("a/b").absolute()).fail_on == "high"


def test_diagnose_toml_comes_before_pyproject():
    write("pyproject.toml", '[tool.diagnose]\nfail_on = "high"')
    write("diagnose.toml", 'fail_on = "low"')
    assert resolve().fail_on == "low"


def test_a_file_inside_an_input_folder_is_not_obeyed():
    write("diagnose.toml", 'fail_on = "low"')
    write("bundle/diagnose.toml", "exit_zero = true")
    write("bundle/deep/diagnose.toml", "exit_zero = true")
    bundle = Path("bundle").absolute()
    for cwd in (bundle, bundle / "deep"):
        for given in (bundle, Path("bundle/../bundle")):
            s = resolve(cwd=cwd, inputs=[given])
            assert (s.exit_zero, s.fail_on) == (False, "low")
            assert any("bundle/diagnose.toml" in n and "not obeyed" in n for n in s.notes)
    # beside a file that is judged it counts: the folder is the user's, not the evidence
    assert resolve(cwd=bundle, inputs=[write("bundle/trace.sqlite", "")]).exit_zero


def test_an_input_folder_below_the_file_changes_nothing():
    write("diagnose.toml", 'fail_on = "low"')
    Path("bundle").mkdir()
    assert resolve(inputs=[Path("bundle")]).fail_on == "low"


def test_paths_are_relative_to_their_file():
    write("team/diagnose.toml", 'signatures = ["ours", "/abs"]')
    s = resolve(config=Path("team/diagnose.toml"))
    assert s.signatures == (Path.cwd() / "team/ours", Path("/abs"))
    s = resolve(environ={"DIAGNOSE_SIGNATURES": os.pathsep.join(["x", "y"])})
    assert s.signatures == (Path.cwd() / "x", Path.cwd() / "y")


def test_environment_values_have_the_types_of_their_settings():
    environ = {
        "DIAGNOSE_WIDTH": "100",
        "DIAGNOSE_HASH": "no",
        "DIAGNOSE_VERBOSE": "1",
        "DIAGNOSE_ONLY": "a-chain, b-chain",
        "DIAGNOSE_THRESHOLDS": "a-chain.x=0.5,a-chain.y=2",
        "DIAGNOSE_QUIET": "",
    }
    s = resolve(environ=environ)
    assert (s.width, s.hash, s.verbose, s.quiet) == (100, False, True, False)
    assert s.only == ("a-chain", "b-chain")
    assert s.thresholds == {"a-chain": {"x": 0.5, "y": 2.0}}


def test_a_variable_can_name_the_file():
    write("given.toml", "ascii = true")
    assert resolve(environ={"DIAGNOSE_CONFIG": "given.toml"}).ascii


def test_a_misspelt_variable_is_remarked_and_a_foreign_one_is_not():
    s = resolve(environ={"DIAGNOSE_FAILON": "low", "DIAGNOSE_CORPUS": "/x"})
    assert s.notes == ("DIAGNOSE_FAILON is not a setting; did you mean DIAGNOSE_FAIL_ON?",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fail_om = 1", "fail_om is not a setting"),
        ("zzz = 1", "zzz is not a setting"),
        ("fail_on = 3", "fail_on = 3: must be one of low, medium, high, critical"),
        ('fail_on = "info"', "fail_on = 'info': must be one of low"),
        ("exit_zero = 1", "exit_zero = 1: must be true or false"),
        ("width = 10", "width = 10: must be a whole number of at least 40"),
        ("width = true", "width = True: must be a whole number"),
        ("width = 80.5", "width = 80.5: must be a whole number"),
        ('only = "x"', "only = 'x': must be a list of texts"),
        ("only = [1]", "only = .*: must be a list of texts"),
        ("format = 1", "format = 1: must be a text"),
        ("thresholds = 1", "thresholds must be a table"),
        ("[thresholds]\nx = 1", "thresholds.x must be a table"),
        ("[thresholds.a]\nx = '1'", "thresholds.a.x = '1': must be a number"),
        ("[thresholds.a]\nx = true", "thresholds.a.x = True: must be a number"),
        ("[thresholds.a]\nx = nan", "thresholds.a.x = nan: must be a number"),
        pytest.param("[thresholds.a]\nx = 1" + "0" * 400, "must be a number", id="huge"),
        ("a = ]\n", "not valid TOML: .*line 1"),
        ('fail_on = "low"\nfail-on = "low"', "fail-on is given twice"),
    ],
)
def test_a_bad_file_is_named_with_its_key(text, message):
    file = write("diagnose.toml", text)
    with pytest.raises(ConfigError, match=message) as caught:
        resolve()
    assert caught.value.where == str(Path.cwd() / file)


def test_a_bad_pyproject_is_named_with_its_key():
    write("pyproject.toml", "[tool.diagnose]\nfail_om = 1")
    with pytest.raises(ConfigError, match=r"tool\.diagnose\.fail_om is not a setting") as caught:
        resolve()
    assert caught.value.hint == "did you mean fail_on?"
    write("pyproject.toml", "[tool.diagnose]\nfail_on =")
    with pytest.raises(ConfigError, match="not valid TOML"):
        resolve()
    write("pyproject.toml", "[tool]\ndiagnose = 1")
    with pytest.raises(ConfigError, match="must be a table"):
        resolve()


def test_a_file_that_is_not_text(tmp_path):
    Path("diagnose.toml").write_bytes(b'format = "\xff"')
    with pytest.raises(ConfigError, match="not UTF-8"):
        resolve()
    with pytest.raises(ConfigError) as caught:
        resolve(config=tmp_path)
    assert caught.value.where == str(tmp_path)


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("DIAGNOSE_WIDTH", "wide"),
        ("DIAGNOSE_HASH", "maybe"),
        ("DIAGNOSE_COLOR", "red"),
        ("DIAGNOSE_THRESHOLDS", "x=1"),
    ],
)
def test_a_bad_variable_is_named(variable, value):
    with pytest.raises(ConfigError) as caught:
        resolve(environ={variable: value})
    assert caught.value.where == variable


@pytest.mark.parametrize(
    "text", ["", "a", "a.b", "a=1", "a.b=", "a.b=x", ".b=1", "a.=1", "a.b=nan", "a.b=inf"]
)
def test_set_refuses(text):
    with pytest.raises(ConfigError):
        settings.parse_thresholds([text])


def test_set_takes_ids_with_dots_and_spaces_around():
    assert settings.parse_thresholds(["team.chain.x = 1e3"]) == {"team.chain": {"x": 1000.0}}


def test_settings_reach_the_judge(fakes, case):
    write("diagnose.toml", 'only = ["b-chain"]\nhash = false\n[thresholds.a-chain]\nx = 1')
    assert main([str(case("healthy")), "--set", "a-chain.y=2", "--signatures", "ours"]) == 0
    (_, options) = fakes.CALLS[0]
    assert options == fakes.JudgeOptions(
        (Path.cwd() / "ours",), {"a-chain": {"x": 1.0, "y": 2.0}}, ("b-chain",), hash_inputs=False
    )


@pytest.mark.usefixtures("fakes")
def test_a_flag_can_take_back_what_a_file_says(case):
    write("diagnose.toml", "exit_zero = true")
    path = str(case("found critical confirmed"))
    assert main([path]) == 0
    assert main([path, "--no-exit-zero"]) == 1


@pytest.mark.usefixtures("fakes")
def test_a_planted_file_does_not_hide_a_finding(case, monkeypatch, capsys):
    write("bundle/diagnose.toml", "exit_zero = true")
    case("found critical confirmed", "bundle/log.txt")
    monkeypatch.chdir("bundle")
    assert main(["log.txt"]) == 0
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: "found critical confirmed")
    assert main(["."]) == 1
    assert "not obeyed" in capsys.readouterr().err


def test_config_lists_every_setting_with_its_origin(capsys, monkeypatch):
    write("diagnose.toml", "width = 100\n[thresholds.a-chain]\nx = 0.25")
    monkeypatch.setenv("DIAGNOSE_FAIL_ON", "high")
    assert main(["config", "-f", "json"]) == 0
    listed = {s["name"]: s for s in json.loads(capsys.readouterr().out)["settings"]}
    assert set(listed) == (set(settings.KINDS) - {"thresholds"}) | {"thresholds.a-chain.x"}
    near = str(Path.cwd() / "diagnose.toml")
    assert (listed["width"]["value"], listed["width"]["origin"]) == (100, near)
    assert listed["fail_on"]["origin"] == "environment DIAGNOSE_FAIL_ON"
    assert (listed["thresholds.a-chain.x"]["value"], listed["thresholds.a-chain.x"]["origin"]) == (0.25, near)
    assert listed["format"]["origin"] == "default"


def test_config_as_text(capsys):
    assert main(["config"]) == 0
    rows = {line.split()[0]: line.split()[1:3] for line in capsys.readouterr().out.splitlines()}
    assert rows["fail_on"] == ["medium", "default"]
    assert rows["width"] == ["automatic", "default"]


def test_a_bad_file_is_exit_code_2(capsys):
    write("diagnose.toml", "fail_om = 1")
    assert main(["config"]) == 2
    assert capsys.readouterr().err == (
        f"error: {Path.cwd() / 'diagnose.toml'}: fail_om is not a setting\n  hint: did you mean fail_on?\n"
    )


def test_the_user_file_is_found():
    from platformdirs import user_config_path

    folder = user_config_path("diagnose", appauthor=False)
    assert Path(os.environ["HOME"]) in folder.parents
    write(str(folder / "diagnose.toml"), "ascii = true")
    s = settings.resolve(environ={})
    assert (s.ascii, s.origins["ascii"]) == (True, str(folder / "diagnose.toml"))
