"""Print a script that completes the words of this command in a shell.

    widestreet completion bash > ~/.local/share/bash-completion/completions/widestreet
    widestreet completion zsh > "${fpath[1]}/_widestreet"
    widestreet completion fish > ~/.config/fish/completions/widestreet.fish

The script knows the commands, their options and the values of options that have a choice; it
completes names of files elsewhere. It does not start Python.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

from widestreet.cli.streams import result

SUMMARY = "print a script that completes this command in a shell"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("shell", choices=tuple(_SHELLS), help="the shell")


def run(options: argparse.Namespace) -> int:
    """Print the script and return 0."""
    from widestreet.cli import make_parser

    result(_SHELLS[options.shell](list(commands_of(make_parser()))), end="")
    return 0


@dataclass(frozen=True)
class Option:
    """One option of a command.

    Attributes
    ----------
    names : tuple of str
    text : str
    choices : tuple of str
        Values that it may have, if they are known.
    takes_value : bool
    """

    names: tuple[str, ...]
    text: str
    choices: tuple[str, ...]
    takes_value: bool


@dataclass(frozen=True)
class Command:
    """One subcommand: its name, what it does, its options and the values of its arguments."""

    name: str
    text: str
    options: tuple[Option, ...]
    values: tuple[str, ...]


def commands_of(parser: argparse.ArgumentParser) -> Iterator[Command]:
    """Yield the subcommands of a parser."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            texts = {choice.dest: choice.help or "" for choice in action._choices_actions}
            for name, sub in action.choices.items():
                options = tuple(_option(one) for one in sub._actions if one.option_strings)
                values = [one.choices or () for one in sub._actions if not one.option_strings]
                every = tuple(str(value) for some in values for value in some)
                yield Command(name, texts[name], options, every)


def _option(action: argparse.Action) -> Option:
    text = " ".join((action.help or "").replace("%(default)s", str(action.default)).split())
    choices = tuple(str(one) for one in action.choices or ())
    return Option(tuple(action.option_strings), text, choices, action.nargs != 0)


def _bash(commands: list[Command]) -> str:
    """Return the script for bash."""
    cases, values = [], []
    for one in commands:
        words = [name for option in one.options for name in option.names]
        cases.append(f'    {one.name}) words="{" ".join([*words, *one.values])}" ;;')
        values += [
            f'    "{one.name} {name}") words="{" ".join(option.choices)}" ;;'
            for option in one.options
            for name in option.names
            if option.choices
        ]
    every = " ".join(one.name for one in commands)
    return f"""\
# completion of widestreet for bash
_widestreet() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" words=""
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{every} --help --version" -- "$word"))
    return
  fi
  case "${{COMP_WORDS[1]}} $before" in
{chr(10).join(values)}
    *) case "${{COMP_WORDS[1]}}" in
{chr(10).join(cases)}
    esac ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o default -F _widestreet widestreet
"""


def _zsh(commands: list[Command]) -> str:
    """Return the script for zsh."""
    lines, cases = [], []
    for one in commands:
        lines.append(f"    {_quoted(f'{one.name}:{one.text}')}")
        specs = [_zsh_option(name, option) for option in one.options for name in option.names]
        rest = f"({' '.join(one.values)})" if one.values else "_files"
        specs.append(_quoted(f"*:file:{rest}"))
        cases.append(f"    {one.name}) _arguments {' '.join(specs)} ;;")
    return f"""\
#compdef widestreet
# completion of widestreet for zsh
_widestreet() {{
  local -a commands
  commands=(
{chr(10).join(lines)}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command="$words[2]"
  shift words
  (( CURRENT-- ))
  case "$command" in
{chr(10).join(cases)}
  esac
}}
if [ "$funcstack[1]" = "_widestreet" ]; then
  _widestreet "$@"
else
  compdef _widestreet widestreet
fi
"""


def _zsh_option(name: str, option: Option) -> str:
    """Return an option as _arguments takes it."""
    text = option.text.replace("[", "(").replace("]", ")").replace(":", "\\:")
    value = ""
    if option.takes_value:
        value = f":value:({' '.join(option.choices)})" if option.choices else ":value:_files"
    return _quoted(f"{name}[{text}]{value}")


def _fish(commands: list[Command]) -> str:
    """Return the script for fish."""
    every = " ".join(one.name for one in commands)
    lines = ["# completion of widestreet for fish"]
    first = f"'not __fish_seen_subcommand_from {every}'"
    lines += [
        f"complete -c widestreet -f -n {first} -a {one.name} -d {_quoted(one.text)}"
        for one in commands
    ]
    for one in commands:
        seen = f"complete -c widestreet -n '__fish_seen_subcommand_from {one.name}'"
        if one.values:
            lines.append(f"{seen} -f -a {_quoted(' '.join(one.values))}")
        for option in one.options:
            names = " ".join(
                f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"
                for name in option.names
            )
            value = " -r" if option.takes_value else ""
            value = f" -x -a {_quoted(' '.join(option.choices))}" if option.choices else value
            lines.append(f"{seen} {names}{value} -d {_quoted(option.text)}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """Return text in single quotes, which all three shells understand."""
    return "'" + text.replace("'", "'\\''") + "'"


_SHELLS = {"bash": _bash, "zsh": _zsh, "fish": _fish}
