"""What must not stand in a record: from texts to texts without credentials. Imports no torch."""

import re
from collections.abc import Iterable

HIDDEN = "***"

_NAME = re.compile(
    r"(?:^|[^a-z])(?:pass(?:word|wd|phrase)?|secret|token|credentials?|auth(?:orization)?|api[-_]?key|access[-_]?key"
    r"|private[-_]?key|key|pwd|cookie|bearer|sas|dsn)(?:$|[^a-z])",
    re.IGNORECASE,
)
"""A name that announces a secret, as a word of its own: `--api-key`, `HF_TOKEN`, but not `--keyword`."""

_VALUE = re.compile(
    r"""
    -----BEGIN\ [A-Z ]*PRIVATE\ KEY
    | \b(?:gh[pousr]|github_pat|glpat|hf|sk|pk|rk|xox[abprs]|npm|pypi|dckr_pat|wandb|nvapi)[-_][A-Za-z0-9_\-]{16,}
    | \b(?:AKIA|ASIA)[A-Z0-9]{16}\b
    | \bAIza[A-Za-z0-9_\-]{30,}
    | \beyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{8,}\.
    | \b(?:Bearer|Basic)\s+\S{8,}
    """,
    re.VERBOSE,
)
"""A value that is a secret by its form, whatever it is called."""

_USERINFO = re.compile(r"(?P<scheme>[a-z][a-z0-9+.\-]*://)[^/\s@]+@", re.IGNORECASE)
_QUERY = re.compile(r"(?P<name>[?&;][^=&;#\s]+)=(?P<value>[^&;#\s]*)")


def looks_secret(value: str) -> bool:
    """Return whether a text is a credential, or holds one, by its form."""
    return bool(_VALUE.search(value) or _USERINFO.search(value))


def scrub_command(command: Iterable[str]) -> tuple[str, ...]:
    """Return a command line in which whatever looks like a credential is replaced by `***`.

    Hidden are values that are secrets by their form, values whose flag or variable is called like one (`--token X`,
    `--token=X`, `API_KEY=X`), and users in addresses.
    """
    scrubbed: list[str] = []
    is_next_hidden = False
    for argument in map(readable, command):
        if is_next_hidden and not argument.startswith("-"):
            scrubbed.append(HIDDEN)
            is_next_hidden = False
            continue
        name, equals, _ = argument.partition("=")
        is_named = bool(_NAME.search(name)) and _is_name(name)
        is_next_hidden = is_named and not equals and argument.startswith("-")
        scrubbed.append(f"{name}={HIDDEN}" if is_named and equals else scrub(argument))
    return tuple(scrubbed)


def scrub(text: str) -> str:
    """Return a text with credentials in it replaced by `***`."""
    text = _USERINFO.sub(rf"\g<scheme>{HIDDEN}@", text)
    text = _QUERY.sub(lambda match: f"{match['name']}={HIDDEN}" if _NAME.search(match["name"]) else match[0], text)
    return HIDDEN if _VALUE.search(text) else text


def readable(text: str) -> str:
    """Return a text that UTF-8 can hold: bytes that no encoding explains are written as escapes."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _is_name(text: str) -> bool:
    """Whether a text could be a flag or a variable, rather than a path or an expression that contains `key`."""
    return bool(re.fullmatch(r"-{0,2}[A-Za-z0-9_.\-]+", text))
