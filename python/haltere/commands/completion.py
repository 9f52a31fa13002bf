"""`haltere completion`: what a shell completes, read off the parsers."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator

from ._common import Commands

#: How each shell takes its script.
_SHELLS = {
    "bash": "eval \"$(haltere completion bash)\"       # in ~/.bashrc",
    "zsh": "eval \"$(haltere completion zsh)\"        # in ~/.zshrc, after compinit",
    "fish": "haltere completion fish | source        # in ~/.config/fish/config.fish",
}  # fmt: skip
#: `$words` and `$options` of a command follow; names of files come from the shell itself.
_BASH = """\
_haltere() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" at="haltere" words="" one
  for one in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case "$at $one" in {paths}) at="$at $one";; esac
  done
  case "$at $before" in
{values}
    *) case "$at" in
{words}
    esac;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -o bashdefault -F _haltere haltere
"""


def add(to: Commands) -> None:
    """Adds to the command line."""
    shells = "\n".join(f"  {line}" for line in _SHELLS.values())
    one = to.add("completion", _completion, fill={"shells": shells}, shell={"choices": _SHELLS})
    one.set_defaults(commands=to)


def _completion(args: argparse.Namespace) -> int:
    every = dict(_walk("haltere", args.commands.top))
    if args.shell == "fish":
        print("\n".join(_fish(every)))
    else:
        head = "autoload -U +X bashcompinit && bashcompinit\n" if args.shell == "zsh" else ""
        print(head + _bash(every), end="")
    return 0


def _walk(path: str, parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Every parser by the words that lead to it."""
    yield path, parser
    for name, inner in _inner(parser).items():
        yield from _walk(f"{path} {name}", inner)


def _inner(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    for one in parser._actions:
        if isinstance(one, argparse._SubParsersAction):
            return dict(one.choices)
    return {}


def _options(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    return [one for one in parser._actions if one.option_strings and one.help != argparse.SUPPRESS]


def _choices(one: argparse.Action) -> list[str]:
    return [str(choice) for choice in one.choices or ()] if not isinstance(one, argparse._SubParsersAction) else []


def _bash(every: dict[str, argparse.ArgumentParser]) -> str:
    values, words = [], []
    for path, parser in every.items():
        named = [*_inner(parser), *(c for one in parser._actions if not one.option_strings for c in _choices(one))]
        named += [option for one in _options(parser) for option in one.option_strings]
        words.append(f"    {shlex.quote(path)}) words={shlex.quote(' '.join(named))};;")
        for one in _options(parser):
            if one.nargs != 0:  # without choices a name of a file is likely
                places = "|".join(shlex.quote(f"{path} {option}") for option in one.option_strings)
                values.append(f"    {places}) words={shlex.quote(' '.join(_choices(one)))};;")
    paths = "|".join(map(shlex.quote, list(every)[1:]))
    return _BASH.format(paths=paths, values="\n".join(values), words="\n".join(words))


def _fish(every: dict[str, argparse.ArgumentParser]) -> Iterator[str]:
    for path, parser in every.items():
        names = path.split()[1:]
        seen = [f"__fish_seen_subcommand_from {name}" for name in names]
        inner = _inner(parser)
        when = "; and ".join([*seen, *([f"not __fish_seen_subcommand_from {' '.join(inner)}"] if inner else [])])
        head = f"complete -c haltere -n {shlex.quote(when)}" if when else "complete -c haltere"
        for name, one in inner.items():
            yield f"{head} -f -a {name} -d {shlex.quote(_brief(one.description))}"
        for action in _options(parser):
            flags = [f"-l {one[2:]}" if one.startswith("--") else f"-s {one[1:]}" for one in action.option_strings]
            listed = f" -xa {shlex.quote(' '.join(_choices(action)))}" if action.choices else " -r"
            value = "" if action.nargs == 0 else listed
            yield f"{head} {' '.join(flags)}{value} -d {shlex.quote(_brief(action.help))}"


def _brief(text: str | None) -> str:
    return (text or "").partition(";")[0].partition(". ")[0].rstrip(".")
