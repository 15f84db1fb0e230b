"""Renderings of calls and results: guesses at what a service might do with a tree.

How Gemini spells them is not public, so a bound must hold for all of these. A counter under test
never learns which of them a server uses.
"""

import html
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

Tree = Any
Render = Callable[[Tree], str]


def compact(tree: Tree) -> str:
    """JSON without white space, in UTF-8."""
    return json.dumps(tree, ensure_ascii=False, separators=(",", ":"))


def spaced(tree: Tree) -> str:
    """JSON with spaces after commas and colons, solidus escaped as PHP does."""
    return json.dumps(tree, ensure_ascii=False).replace("/", "\\/")


def indented(tree: Tree) -> str:
    """JSON, two spaces a level."""
    return json.dumps(tree, ensure_ascii=False, indent=2)


def wide(tree: Tree) -> str:
    """JSON, seven spaces a level: a run of spaces that a vocabulary may lack."""
    return json.dumps(tree, ensure_ascii=False, indent=7, sort_keys=True)


def escaped(tree: Tree) -> str:
    r"""JSON in ASCII: \uXXXX."""
    return json.dumps(tree, separators=(",", ":"))


def escaped_indented(tree: Tree) -> str:
    r"""JSON in ASCII, indented by tabs, numbers as doubles."""
    return json.dumps(_doubles(tree), indent="\t")


def html_escaped(tree: Tree) -> str:
    """JSON within HTML."""
    return html.escape(compact(tree))


def html_safe(tree: Tree) -> str:
    r"""JSON that is safe within HTML, as Go and .NET write it: \u003C."""
    return re.sub("[<>&'+`]", lambda found: f"\\u{ord(found[0]):04X}", compact(tree))


def python(tree: Tree) -> str:
    """What Python prints."""
    return repr(tree)


def python_ascii(tree: Tree) -> str:
    r"""What Python prints in ASCII: \xe9, \uXXXX, \UXXXXXXXX."""
    return ascii(tree)


def quoted_json(tree: Tree) -> str:
    """JSON in a JSON string: everything escaped twice."""
    return json.dumps(compact(tree), ensure_ascii=False)


def quoted_ascii(tree: Tree) -> str:
    """ASCII JSON in a JSON string."""
    return json.dumps(escaped(tree))


def xml(tree: Tree) -> str:
    """Elements named by keys, items as <item>."""
    return _xml("response", tree, "", "")


def xml_indented(tree: Tree) -> str:
    """The same, a line an element."""
    return _xml("response", tree, "\n", "  ")


def xml_repeated(tree: Tree) -> str:
    """Elements named by keys; a list repeats its key."""
    return "".join(_repeated("root", tree, 0))


def yaml(tree: Tree) -> str:
    """Lines of key and value, strings quoted where they must be."""
    return "\n".join(_yaml(tree, 0))


def paths(tree: Tree) -> str:
    """One line a leaf: a.b[0].c = value."""
    return "\n".join(_paths("", tree))


def proto_text(tree: Tree) -> str:
    r"""A protobuf Struct in text format: octal escapes of UTF-8 bytes."""
    return _proto(tree, 0)


def parameters(tree: Tree) -> str:
    """Tags that carry the key as a name: <parameter=key>."""
    return "\n".join(
        f"<parameter={key}>\n{value if isinstance(value, str) else compact(value)}\n</parameter>"
        for key, value in tree.items()
    )


STRUCTURES: Mapping[str, Render] = {
    "compact": compact,
    "spaced": spaced,
    "indented": indented,
    "wide": wide,
    "escaped": escaped,
    "escaped_indented": escaped_indented,
    "html": html_escaped,
    "html_safe": html_safe,
    "python": python,
    "python_ascii": python_ascii,
    "quoted": quoted_json,
    "quoted_ascii": quoted_ascii,
    "xml": xml,
    "xml_indented": xml_indented,
    "xml_repeated": xml_repeated,
    "yaml": yaml,
    "paths": paths,
    "proto": proto_text,
    "parameters": parameters,
}

RAW = (
    "compact",
    "spaced",
    "indented",
    "wide",
    "html_safe",
    "python",
    "quoted",
    "yaml",
    "parameters",
)
"""Those that leave other than ASCII characters as they are, without markup around each value."""
XML_LIKE = ("xml", "xml_indented", "xml_repeated")
ESCAPED = ("escaped", "escaped_indented", "python_ascii", "quoted_ascii")
"""Those that spell other characters in ASCII."""


def _doubles(tree: Tree) -> Tree:
    if isinstance(tree, dict):
        return {key: _doubles(value) for key, value in tree.items()}
    if isinstance(tree, list):
        return [_doubles(value) for value in tree]
    return float(tree) if type(tree) is int else tree


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _xml(name: str, value: Tree, line: str, indent: str, depth: int = 0) -> str:
    before = f"{line}{indent * depth}" if line else ""
    if isinstance(value, dict):
        inner = "".join(_xml(key, child, line, indent, depth + 1) for key, child in value.items())
    elif isinstance(value, list):
        inner = "".join(_xml("item", child, line, indent, depth + 1) for child in value)
    else:
        return f"{before}<{name}>{html.escape(_plain(value))}</{name}>"
    return f"{before}<{name}>{inner}{before}</{name}>"


def _repeated(name: str, value: Tree, depth: int) -> list[str]:
    if isinstance(value, list):
        return [piece for child in value for piece in _repeated(name, child, depth)]
    if isinstance(value, dict):
        inner = [
            piece for key, child in value.items() for piece in _repeated(key, child, depth + 1)
        ]
        return [" " * depth, f'<{name} type="object">\n', *inner, " " * depth, f"</{name}>\n"]
    return [" " * depth, f"<{name}>", html.escape(_plain(value), quote=False), f"</{name}>\n"]


def _yaml(value: Tree, depth: int) -> list[str]:
    pad = "  " * depth
    lines: list[str] = []
    pairs: list[tuple[str, Tree]] = (
        [(f"{key}:", child) for key, child in value.items()]
        if isinstance(value, dict)
        else [("-", child) for child in value]
    )
    for head, child in pairs:
        if isinstance(child, dict | list) and child:
            lines.append(pad + head)
            lines.extend(_yaml(child, depth + 1))
        elif isinstance(child, str) and re.fullmatch(r"[^\W\d][\w .]*", child):
            lines.append(f"{pad}{head} {child}")
        else:
            lines.append(f"{pad}{head} {compact(child)}")
    return lines


def _paths(path: str, value: Tree) -> list[str]:
    if isinstance(value, dict) and value:
        return [
            line
            for key, child in value.items()
            for line in _paths(f"{path}.{key}" if path else key, child)
        ]
    if isinstance(value, list) and value:
        return [
            line for index, child in enumerate(value) for line in _paths(f"{path}[{index}]", child)
        ]
    return [f"{path} = {compact(value)}"]


def _octal(text: str) -> str:
    spelled = []
    for byte in text.encode("utf-8", "surrogatepass"):
        character = chr(byte)
        if character in "\"'\\":
            spelled.append("\\" + character)
        elif 32 <= byte < 127:
            spelled.append(character)
        else:
            spelled.append(f"\\{byte:03o}")
    return "".join(spelled)


def _proto(value: Tree, depth: int) -> str:
    pad = "  " * depth
    if isinstance(value, dict):
        return "".join(
            f'{pad}fields {{\n{pad}  key: "{_octal(key)}"\n{pad}  value {{\n'
            f"{_proto(child, depth + 2)}{pad}  }}\n{pad}}}\n"
            for key, child in value.items()
        )
    if isinstance(value, list):
        inner = "".join(f"{pad}  values {{\n{_proto(c, depth + 2)}{pad}  }}\n" for c in value)
        return f"{pad}list_value {{\n{inner}{pad}}}\n"
    if isinstance(value, bool):
        return f"{pad}bool_value: {str(value).lower()}\n"
    if value is None:
        return f"{pad}null_value: NULL_VALUE\n"
    if isinstance(value, str):
        return f'{pad}string_value: "{_octal(value)}"\n'
    return f"{pad}number_value: {value}\n"
