"""`diagnose sample`: the shipped example cases, to try the program on."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Callable, Iterator
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated

import typer

from diagnose.cli import codes, output, streams
from diagnose.errors import OutputError, UsageError

NAME = "sample"
EXPECTED = "expected.json"  # marks a case; it is for the tests and is not copied


def command(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Which sample; none: list them.")
    ] = None,
    output_: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="DIR", help="New folder to write [default: by name]."),
    ] = None,
) -> Callable[[], int]:
    """Write an example case to a new folder; no NAME: list them."""

    def job() -> int:
        samples = shipped()
        if name is None:
            output.to_stdout("\n".join(samples) or "no samples are installed")
            return codes.OK
        chosen = choose(name, samples)
        folder = output_ or Path("sample-" + chosen.replace("/", "-"))
        copy(samples[chosen], folder)
        streams.say(f"wrote {chosen} to {folder}; try:")
        output.to_stdout(f"diagnose {shlex.quote(str(folder))}")
        return codes.OK

    return job


def shipped() -> dict[str, Traversable]:
    """Sample name (`signature/case`) → its folder, in order of name."""
    root = _root()
    return dict(sorted(_cases(root, ""))) if root.is_dir() else {}


def _root() -> Traversable:
    installed = resources.files("diagnose") / "_sample_traces"
    if installed.is_dir():
        return installed
    return Path(__file__).resolve().parents[2] / "sample_traces"  # the folder of the repository


def _cases(folder: Traversable, name: str) -> Iterator[tuple[str, Traversable]]:
    if (folder / EXPECTED).is_file():
        yield name, folder
        return
    for child in folder.iterdir():
        if child.is_dir() and not child.name.startswith((".", "_")):
            yield from _cases(child, f"{name}/{child.name}" if name else child.name)


def choose(name: str, samples: dict[str, Traversable]) -> str:
    """The sample called `name`, or the first one of the signature `name`. Raises UsageError."""
    wanted = name.strip("/")
    if wanted in samples:
        return wanted
    first = next((s for s in samples if s.startswith(wanted + "/")), None)
    if first is not None:
        return first
    close = difflib.get_close_matches(wanted, [*samples, *{s.split("/")[0] for s in samples}], n=3)
    hint = f"did you mean {' or '.join(close)}?" if close else "`diagnose sample` lists the samples"
    raise UsageError(f"there is no sample {name}", hint=hint)


def copy(source: Traversable, folder: Path) -> None:
    """Write the files of `source` to the new folder `folder`. Raises OutputError, also if it exists."""
    try:
        folder.mkdir(parents=True)
        _copy_into(source, folder)
    except FileExistsError as exc:
        raise OutputError("already exists; nothing was written", where=str(folder), hint="-o DIR") from exc
    except OSError as exc:
        raise OutputError(exc.strerror or str(exc), where=str(folder)) from exc


def _copy_into(source: Traversable, folder: Path) -> None:
    for child in source.iterdir():
        if child.is_dir():
            (folder / child.name).mkdir()
            _copy_into(child, folder / child.name)
        elif child.name != EXPECTED:
            (folder / child.name).write_bytes(child.read_bytes())
