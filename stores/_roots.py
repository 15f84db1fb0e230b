"""Notices when a folder of somebody else stands where one of our three import roots should.

`callbacks` and `stores` are plain words: a person's own folder of that name, earlier on `sys.path`,
wins without a sound, and the failure then shows far from its cause. Each root runs this file by its
path, not by its name, for by its name it could be the stranger's.
"""

import sys
import warnings
from importlib.util import find_spec
from pathlib import Path

ROOTS = ("local_agent", "callbacks", "stores")  # from the top floor down, as imports go


def check(importer: str) -> None:
    """Compares where Python would find the roots with where ours lie, beside this file's folder.

    Args:
        importer: The top-level package being imported; it needs the roots below it.

    Raises:
        ImportError: A root that `importer` needs is shadowed. Names both places.

    A shadowed root that `importer` does not need is only warned of: nothing of ours breaks by it.
    """
    home = Path(__file__).absolute().parent.parent  # links unresolved: some installers link files
    needed = ROOTS[ROOTS.index(importer) + 1 :] if importer in ROOTS else ROOTS
    for name in ROOTS:
        ours = home / name
        found = _place(name) if name != importer and (ours / "__init__.py").exists() else None
        if found is None or found.resolve() == ours.resolve():
            continue
        sentence = (
            f"{found} shadows the {name!r} of local-agent in {ours}: "
            "rename it, or keep its parent folder off Python's path."
        )
        if name in needed:
            raise ImportError(sentence, name=name, path=str(found))
        warnings.warn(sentence, stacklevel=2)


def _place(name: str) -> Path | None:
    """Where `import name` leads or has led: a package's folder, a module's file, or nowhere."""
    if name in sys.modules:
        file = getattr(sys.modules[name], "__file__", None)
    else:
        spec = find_spec(name)
        file = spec.origin if spec is not None and spec.has_location else None
    if file is None:
        return None
    path = Path(file).absolute()
    return path.parent if path.stem == "__init__" else path
